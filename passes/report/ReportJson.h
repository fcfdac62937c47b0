//===- ReportJson.h - parts of a report's JSON, shared with the page ---------------------===//
#pragma once

#include "passes/report/Report.h"

#include <nlohmann/json.hpp>

namespace fusec::report {

/// Keys stay in the order written.
using Json = nlohmann::ordered_json;

/// Everything but the graphs.
Json overviewJson(const Report &report);
Json totalsJson(const Report &report);
Json graphJson(const std::vector<Op> &ops);

/// As text; bytes that are not UTF-8 become U+FFFD.
std::string dumped(const Json &json, int indent);

} // namespace fusec::report
