//===- OperandParser.h - operands of instructions ----------------------------===//
#pragma once

#include "runtime/device/virtual/ptx/Ast.h"
#include "runtime/device/virtual/ptx/TokenStream.h"

namespace fusec::virtualgpu::ptx {

/// One operand: register, literal, {vector}, [memory], (list), a|b or _.
Result<Operand> parseOperand(TokenStream &tokens);

} // namespace fusec::virtualgpu::ptx
