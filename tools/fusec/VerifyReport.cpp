//===- VerifyReport.cpp ----------------------------------------------------===//
#include "tools/fusec/VerifyReport.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace fusec {

namespace {

using json = nlohmann::ordered_json;

[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

constexpr const char *rowPattern = "%-38s %10s %10s %10s %9s  %-11s %s\n";

std::string errorText(const LogitDifference &d, double value) {
  return d.bitEqual() ? "same bits" : format("%.2e", value);
}

std::string tokensText(const VerifyRow &row) {
  if (row.tokens.compared == 0)
    return "-";
  if (row.tokens.equal())
    return std::to_string(row.tokens.compared) + " same";
  return "#" + std::to_string(row.tokens.index) + (row.nearTie() ? " near-tie" : " differs");
}

std::string rowText(const VerifyRow &row) {
  if (!row.skipped.empty())
    return format("%-38s skipped: ", row.what.c_str()) + row.skipped + "\n";
  if (!row.error.empty())
    return format(rowPattern, row.what.c_str(), "-", "-", "-", "-", "-", "FAIL");
  return format(rowPattern, row.what.c_str(), std::to_string(row.logits.compared).c_str(),
                errorText(row.logits, row.logits.maxAbsolute).c_str(),
                errorText(row.logits, row.logits.maxRelative).c_str(),
                row.demand == VerifyDemand::Bits ? "bits" : format("%.2e", row.bound).c_str(), tokensText(row).c_str(),
                row.passed() ? "pass" : "FAIL");
}

std::string culpritText(const VerifyCulprit &c) {
  const std::string what = c.fusion.kind == "rule" || c.fusion.kind == "plugin" ? c.fusion.kind : "fusion";
  std::string text = "\nFirst " + what + (c.bound > 0 ? " beyond its contract" : " that changes a bit");
  text += format(": number %lld of %lld\n", static_cast<long long>(c.number), static_cast<long long>(c.total));
  text += "  " + c.fusion.kind + "  " + c.fusion.producer +
          (c.fusion.consumer.empty() ? "" : " -> " + c.fusion.consumer) + "\n";
  if (!c.fusion.reason.empty())
    text += "  because    " + c.fusion.reason + "\n";
  text += format("  error      %.2e without it, %.2e with it", c.before.error, c.after.error) +
          (c.bound > 0 ? format(", allowed %.2e\n", c.bound) : "\n");
  text += "  reproduce  " + c.command + "\n";
  if (!c.previous.empty())
    text += "  without    " + c.previous + "\n";
  return text;
}

/// JSON has no infinity.
json number(double value) { return std::isfinite(value) ? json(value) : json("infinite"); }

json rowJson(const VerifyRow &row) {
  json object = {{"id", row.id}, {"comparison", row.what}};
  if (!row.skipped.empty()) {
    object["skipped"] = row.skipped;
    return object;
  }
  if (!row.error.empty()) {
    object["error"] = row.error;
    object["passed"] = false;
    return object;
  }
  object["logits"] = row.logits.compared;
  object["differing"] = row.logits.differing;
  object["one_sided"] = row.logits.oneSided;
  object["not_numbers"] = row.logits.notNumbers;
  object["max_absolute_error"] = number(row.logits.maxAbsolute);
  object["max_relative_error"] = number(row.logits.maxRelative);
  object["demand"] = row.demand == VerifyDemand::Bits ? "bits" : "bound";
  object["bound"] = row.bound;
  object["tokens"] = row.tokens.compared;
  object["first_differing_token"] = row.tokens.equal() ? json(nullptr) : json(row.tokens.index);
  object["near_tie"] = row.nearTie();
  object["passed"] = row.passed();
  if (!row.passed())
    object["reason"] = row.failure();
  return object;
}

json culpritJson(const VerifyCulprit &c) {
  return {{"number", c.number},
          {"of", c.total},
          {"kind", c.fusion.kind},
          {"producer", c.fusion.producer},
          {"consumer", c.fusion.consumer},
          {"reason", c.fusion.reason},
          {"error_before", number(c.before.error)},
          {"error_after", number(c.after.error)},
          {"bound", c.bound},
          {"command", c.command}};
}

} // namespace

bool VerifyReport::passed() const {
  return std::all_of(rows.begin(), rows.end(), [](const VerifyRow &row) { return row.passed(); });
}

std::string verifyText(const VerifyReport &report) {
  const std::string where = report.threads > 0 ? std::to_string(report.threads) + " threads" : "on the GPU";
  std::string text = format("model  %s, level %s, %s\n", report.model.c_str(), report.level.c_str(), where.c_str());
  text += format("input  %lld prompt tokens, %lld generated greedily\n", static_cast<long long>(report.promptTokens),
                 static_cast<long long>(report.generateTokens));
  if (report.noise)
    text += format("noise  rounding alone moves a logit by up to %.2e of its row's range (measured)\n", *report.noise);
  text += "\n" + format(rowPattern, "comparison", "logits", "max error", "of range", "allowed", "tokens", "result");
  for (const VerifyRow &row : report.rows)
    text += rowText(row);
  for (const VerifyRow &row : report.rows)
    if (!row.passed())
      text += "\n" + row.what + ": " + row.failure() + "\n";
  if (report.culprit)
    text += culpritText(*report.culprit);
  for (const std::string &note : report.notes)
    text += "\n" + note + "\n";
  const auto ran =
      std::count_if(report.rows.begin(), report.rows.end(), [](const VerifyRow &row) { return row.skipped.empty(); });
  const auto failed =
      std::count_if(report.rows.begin(), report.rows.end(), [](const VerifyRow &row) { return !row.passed(); });
  text += format("\n%s: %lld of %lld comparisons (%.0f s)\n", failed ? "FAILED" : "passed",
                 static_cast<long long>(failed ? failed : ran), static_cast<long long>(ran), report.seconds);
  return text;
}

std::string verifyJson(const VerifyReport &report) {
  json object = {{"model", report.model},
                 {"level", report.level},
                 {"threads", report.threads},
                 {"prompt_tokens", report.promptTokens},
                 {"generated_tokens", report.generateTokens},
                 {"noise", report.noise ? number(*report.noise) : json(nullptr)},
                 {"rows", json::array()},
                 {"culprit", report.culprit ? culpritJson(*report.culprit) : json(nullptr)},
                 {"notes", report.notes},
                 {"seconds", report.seconds},
                 {"passed", report.passed()}};
  for (const VerifyRow &row : report.rows)
    object["rows"].push_back(rowJson(row));
  return object.dump(2) + "\n";
}

} // namespace fusec
