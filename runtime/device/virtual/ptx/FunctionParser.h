//===- FunctionParser.h - .entry and .func -----------------------------------===//
#pragma once

#include "runtime/device/virtual/ptx/Ast.h"
#include "runtime/device/virtual/ptx/TokenStream.h"

namespace fusec::virtualgpu::ptx {

/// From `.entry` or `.func` to the end of the body, or the semicolon of a declaration.
Result<Function> parseFunction(TokenStream &tokens);

} // namespace fusec::virtualgpu::ptx
