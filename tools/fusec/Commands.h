//===- Commands.h - the table of verbs and its dispatch --------------------===//
#pragma once

#include "tools/fusec/Command.h"

#include <span>
#include <string>
#include <vector>

namespace fusec {

/// All verbs, in the order of the help text.
std::span<const CommandRow> commandTable();

/// The row called `name`, or null.
const CommandRow *findCommand(std::string_view name);

/// What `fusec --help` prints.
std::string overviewText();

/// Parses `arguments` (the words after `fusec`) and runs the verb. Returns an ExitCode.
int dispatch(const Environment &environment, const std::vector<std::string> &arguments);

} // namespace fusec
