//===- CompileLog.cpp - what NVRTC and ptxas say about a kernel ------------===//
#include "codegen/cuda/CompileLog.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fusec::codegen {

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <class F> void forEachLine(std::string_view text, F f) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    f(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// The number directly before `unit`: 24 of "Used 24 registers" for " registers".
std::optional<int64_t> numberBefore(std::string_view line, std::string_view unit) {
  const size_t end = line.find(unit);
  if (end == std::string_view::npos)
    return std::nullopt;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, value);
  if (begin == end || error != std::errc() || stop != line.data() + end)
    return std::nullopt;
  return value;
}

/// The text in the quotes that follow `before`.
std::string_view quotedAfter(std::string_view line, std::string_view before) {
  const size_t at = line.find(before);
  if (at == std::string_view::npos)
    return {};
  const size_t begin = at + before.size(), end = line.find('\'', begin);
  return end == std::string_view::npos ? std::string_view() : line.substr(begin, end - begin);
}

/// "ptxas info    : (C7511) Potential Performance Loss: ..." The codes differ by cause, the words do not.
bool isLoss(std::string_view line) {
  return line.starts_with("ptxas") && (contains(line, "Potential Performance Loss") || contains(line, "serialized"));
}

bool isWarning(std::string_view line) {
  // (C7517) and (C7519): ptxas had to add a wgmma wait or arrive that the text lacks.
  const bool injected = line.starts_with("ptxas info") && contains(line, "is injected");
  return injected || contains(line, ": warning #") || line.starts_with("ptxas warning");
}

/// Reads the lines that ptxas prints per function.
class LogReader {
public:
  explicit LogReader(std::string_view entry) : entry(entry) {}

  void line(std::string_view text) {
    if (isLoss(text))
      found.losses.emplace_back(text);
    else if (isWarning(text))
      found.warnings.emplace_back(text);
    else if (std::string_view name = quotedAfter(text, "Compiling entry function '"); !name.empty())
      inEntry = name == entry;
    else if (contains(text, " bytes stack frame"))
      frame(text);
    else if (contains(text, "Used ") && contains(text, " registers"))
      usage(text);
  }

  bool complete() const { return sawFrame && sawUsage; }
  KernelResources take() { return std::move(found); }

private:
  /// Printed for the entry and for every function it calls; spills of any cost the kernel.
  void frame(std::string_view text) {
    found.stackBytes = std::max(found.stackBytes, numberBefore(text, " bytes stack frame").value_or(0));
    found.spillStores += numberBefore(text, " bytes spill stores").value_or(0);
    found.spillLoads += numberBefore(text, " bytes spill loads").value_or(0);
    sawFrame = true;
  }

  void usage(std::string_view text) {
    if (!inEntry)
      return;
    found.registers = static_cast<int>(numberBefore(text, " registers").value_or(0));
    found.barriers = static_cast<int>(numberBefore(text, " barriers").value_or(0));
    found.sharedBytes = numberBefore(text, " bytes smem").value_or(0);
    found.stackBytes = std::max(found.stackBytes, numberBefore(text, " bytes cumulative stack size").value_or(0));
    sawUsage = true;
  }

  std::string_view entry;
  KernelResources found;
  bool inEntry = false, sawFrame = false, sawUsage = false;
};

bool isError(std::string_view line) {
  constexpr std::string_view words[] = {": error:", ": catastrophic error:", ": error #", "; error ", "ptxas error"};
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) { return contains(line, word); });
}

} // namespace

Result<KernelResources> parseCompileLog(std::string_view log, std::string_view entry) {
  LogReader reader(entry);
  forEachLine(log, [&](std::string_view text) { reader.line(text); });
  if (!reader.complete())
    return corruptData("the compiler's log says nothing of kernel '" + std::string(entry) +
                       "'; expected ptxas' \"Compiling entry function\" and \"Used ... registers\"");
  return reader.take();
}

std::string firstError(std::string_view log) {
  std::string first, any;
  int more = 0;
  forEachLine(log, [&](std::string_view text) {
    if (any.empty() && !text.empty())
      any = text;
    if (!isError(text))
      return;
    if (first.empty())
      first = text;
    else
      ++more;
  });
  if (first.empty())
    return any.empty() ? "no message" : any;
  return more ? first + " (and " + std::to_string(more) + " more)" : first;
}

} // namespace fusec::codegen
