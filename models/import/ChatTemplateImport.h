//===- ChatTemplateImport.h - the chat template that comes with a model ---------===//
#pragma once

#include "models/import/Model.h"

#include <optional>
#include <string>

namespace fusec::models {

/// The Jinja source: `tokenizer.chat_template` of a GGUF; chat_template.jinja,
/// else `chat_template` of tokenizer_config.json, of a directory (of several
/// named ones, "default"). Nothing when the model has none.
Result<std::optional<std::string>> importChatTemplate(const Model &model);

} // namespace fusec::models
