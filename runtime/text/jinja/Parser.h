//===- Parser.h - template source to statements ------------------------------===//
#pragma once

#include "runtime/text/jinja/Ast.h"

#include <string_view>

namespace fusec::text::jinja {

/// Parses a whole template. Errors are "line N: what"; no input crashes it.
Result<Body> parseTemplate(std::string_view source);

} // namespace fusec::text::jinja
