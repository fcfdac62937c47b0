//===- Trace.cpp -------------------------------------------------------------===//

#include "tools/load/Trace.h"

#include "runtime/base/Json.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <utility>

namespace fusec::load {

namespace {

using RowParser = Status (*)(const std::string &line, TraceRequest &request);

/// Longer prompts or answers than any model takes mean that the file is something else.
constexpr int64_t maxTraceTokens = 1 << 24;

Status requireLengths(const TraceRequest &request) {
  for (int64_t length : {request.promptTokens, request.outputTokens})
    if (length < 0 || length > maxTraceTokens)
      return corruptData("lengths: expected 0 to " + std::to_string(maxTraceTokens) + " tokens, found " +
                         std::to_string(length));
  return {};
}

Status parseAzureRow(const std::string &line, TraceRequest &request) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  long long prompt = 0, output = 0;
  char rest = 0;
  int fields = std::sscanf(line.c_str(), "%d-%d-%d %d:%d:%lf,%lld,%lld %c", &year, &month, &day, &hour, &minute,
                           &second, &prompt, &output, &rest);
  std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (fields != 8 || !date.ok() || !(second >= 0 && second < 61))
    return corruptData("expected date time,prompt tokens,generated tokens, found '" + line.substr(0, 80) + "'");
  double days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  request.arrival = days * 86400 + hour * 3600 + minute * 60 + second;
  request.promptTokens = prompt;
  request.outputTokens = output;
  return requireLengths(request);
}

Status parseMooncakeRow(const std::string &line, TraceRequest &request) {
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json row, parseJson(line, "a request"));
  FUSEC_ASSIGN_OR_RETURN(double milliseconds, jsonFloat(row, "timestamp"));
  FUSEC_ASSIGN_OR_RETURN(request.promptTokens, jsonInt(row, "input_length"));
  FUSEC_ASSIGN_OR_RETURN(request.outputTokens, jsonInt(row, "output_length"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *ids, jsonArray(row, "hash_ids"));
  request.arrival = milliseconds / 1000;
  for (const nlohmann::json &id : *ids) {
    if (!id.is_number_integer())
      return corruptData("hash_ids: expected integers, found " + std::string(jsonTypeName(id)));
    request.blocks.push_back(id.get<int64_t>());
  }
  FUSEC_RETURN_IF_ERROR(requireLengths(request));
  if (static_cast<int64_t>(request.blocks.size()) * traceBlockTokens < request.promptTokens)
    return corruptData("hash_ids: expected one for each " + std::to_string(traceBlockTokens) + " of " +
                       std::to_string(request.promptTokens) + " tokens, found " +
                       std::to_string(request.blocks.size()));
  return {};
}

struct TraceForm {
  std::string_view ending;
  bool hasHeading;
  RowParser parse;
};

constexpr TraceForm forms[] = {{".csv", true, parseAzureRow}, {".jsonl", false, parseMooncakeRow}};

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

text::TokenId tokenOf(uint64_t source, int64_t position) {
  return static_cast<text::TokenId>(mix(mix(source) + static_cast<uint64_t>(position)) >> 33);
}

constexpr uint64_t unsharedPrompt = 1ull << 60, answer = 2ull << 60; ///< Apart from all block ids.

} // namespace

int64_t Trace::longestContext() const {
  int64_t longest = 0;
  for (const TraceRequest &request : requests)
    longest = std::max(longest, request.promptTokens + request.outputTokens);
  return longest;
}

bool Trace::hasBlocks() const {
  return std::any_of(requests.begin(), requests.end(),
                     [](const TraceRequest &request) { return !request.blocks.empty(); });
}

Trace scaled(Trace trace, double scale) {
  if (trace.hasBlocks()) {
    int64_t tokens = std::max<int64_t>(1, std::llround(static_cast<double>(trace.blockTokens) * scale));
    scale = static_cast<double>(tokens) / static_cast<double>(std::exchange(trace.blockTokens, tokens));
  }
  auto length = [&](int64_t tokens) { return std::max<int64_t>(1, std::llround(static_cast<double>(tokens) * scale)); };
  for (TraceRequest &request : trace.requests) {
    request.promptTokens = length(request.promptTokens);
    request.outputTokens = length(request.outputTokens);
  }
  return trace;
}

Result<Trace> readTrace(const std::filesystem::path &path, size_t limit) {
  auto form = std::find_if(std::begin(forms), std::end(forms),
                           [&](const TraceForm &form) { return path.extension() == form.ending; });
  if (form == std::end(forms))
    return invalidArgument("trace '" + path.string() + "': expected a name that ends in .csv (Azure) or .jsonl " +
                           "(Mooncake)");
  std::ifstream file(path);
  if (!file)
    return notFound("trace '" + path.string() + "' cannot be opened");
  Trace trace{path.filename().string(), {}, traceBlockTokens};
  std::string line;
  for (size_t number = 1; std::getline(file, line) && (limit == 0 || trace.requests.size() < limit); ++number) {
    if (line.empty() || (number == 1 && form->hasHeading))
      continue;
    TraceRequest request;
    if (Status status = form->parse(line, request); !status.ok())
      return status.withContext(path.string() + ":" + std::to_string(number));
    if (!trace.requests.empty() && request.arrival < trace.requests.back().arrival)
      return corruptData(path.string() + ":" + std::to_string(number) + ": expected rows in the order of arrival");
    trace.requests.push_back(std::move(request));
  }
  double first = trace.requests.empty() ? 0 : trace.requests.front().arrival;
  for (TraceRequest &request : trace.requests)
    request.arrival -= first;
  return trace;
}

std::vector<text::TokenId> promptOf(const Trace &trace, size_t index) {
  const TraceRequest &request = trace.requests[index];
  std::vector<text::TokenId> tokens(request.promptTokens);
  for (int64_t i = 0; i < request.promptTokens; ++i)
    tokens[i] = request.blocks.empty()
                    ? tokenOf(unsharedPrompt + index, i)
                    : tokenOf(static_cast<uint64_t>(request.blocks[i / trace.blockTokens]), i % trace.blockTokens);
  return tokens;
}

text::TokenId answerToken(size_t index, int64_t position) { return tokenOf(answer + index, position); }

} // namespace fusec::load
