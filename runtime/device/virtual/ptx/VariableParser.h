//===- VariableParser.h - variables of PTX -----------------------------------===//
#pragma once

#include "runtime/device/virtual/ptx/Ast.h"
#include "runtime/device/virtual/ptx/TokenStream.h"

namespace fusec::virtualgpu::ptx {

/// `.shared .align 16 .b8 a[64], b;` with initial values, up to the semicolon.
Result<std::vector<Variable>> parseVariables(TokenStream &tokens, bool isExtern);
/// One `.param` of a function's parameter list, without separator.
Result<Variable> parseParameter(TokenStream &tokens);
/// Whether the next token opens a variable declaration (.shared, .param, ...).
bool startsVariable(const TokenStream &tokens);

} // namespace fusec::virtualgpu::ptx
