//===- ToolFormats.h - how models write calls of functions ------------------------===//
//
// A row per way. Which one a model was trained on is told by the text of its
// chat template: nothing else of a model file says it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fusec::serve {

struct ToolFormat {
  std::string_view name;
  std::string_view sign;                    ///< What a template of this format spells ...
  std::string_view otherSign = "";          ///< ... and this.
  std::string_view begin;                   ///< Before a call, or before the list of them.
  std::string_view opening = "";            ///< What the model writes between `begin` and the JSON.
  std::string_view end = "";                ///< Behind a call; empty = the JSON is the end.
  std::string_view next = "";               ///< From the end of one call to the JSON of the next, without `end`.
  std::string_view arguments = "arguments"; ///< The member beside "name".
  bool list = false;                        ///< The JSON is an array of calls.
  bool bare = false;                        ///< An answer that begins with '{' is a call as well, without `begin`.
  bool shortIds = false;                    ///< The template takes ids of nine letters and digits only.

  /// A new id for a call.
  std::string newId() const;
};

std::span<const ToolFormat> toolFormats();

/// Null when the template is of no known format.
const ToolFormat *toolFormatOf(std::string_view chatTemplate);

} // namespace fusec::serve
