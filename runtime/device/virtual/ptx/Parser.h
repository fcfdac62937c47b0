//===- Parser.h - PTX text to ptx::Module ------------------------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(ptx::Module module, ptx::parse(text));
//
// Reads what NVRTC and inline assembly write; opcodes and modifiers are checked
// when a function is decoded, not here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/virtual/ptx/Ast.h"

#include <string_view>

namespace fusec::virtualgpu::ptx {

/// CorruptData names the line, what was expected and what was found.
Result<Module> parse(std::string_view text);

} // namespace fusec::virtualgpu::ptx
