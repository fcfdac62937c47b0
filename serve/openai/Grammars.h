//===- Grammars.h - what structured output a request asks for ---------------------===//
#pragma once

#include "runtime/grammar/Compile.h"
#include "serve/Backend.h"
#include "serve/openai/ApiError.h"
#include "serve/openai/ToolCallReader.h"

#include <memory>
#include <string>

namespace fusec::serve {

struct GrammarRequest {
  bool wanted = false;
  grammar::GrammarText grammar;
  std::string param;   ///< Where it came from, for errors.
  std::string pointer; ///< JSON pointer to a schema in the body, whose order of keys counts; else empty.
};

/// `response_format` or one of guided_*; at most one of them.
Failure readGrammarRequest(const nlohmann::json &body, GrammarRequest &request);

/// Reads and compiles it; leaves `grammar` null when none is asked for. `text`: the body as it was sent.
Failure readGrammar(const std::string &text, const nlohmann::json &body, const Backend &backend,
                    std::shared_ptr<const grammar::CompiledGrammar> &grammar);

/// The grammar of an answer that must be calls.
Failure readCallGrammar(const std::string &text, const nlohmann::json &body, const Backend &backend, const ToolUse &use,
                        std::shared_ptr<const grammar::CompiledGrammar> &grammar);

} // namespace fusec::serve
