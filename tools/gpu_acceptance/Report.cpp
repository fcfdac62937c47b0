//===- Report.cpp -----------------------------------------------------------------===//
#include "tools/gpu_acceptance/Report.h"

#include "runtime/base/AtomicFile.h"

#include <algorithm>
#include <cstdio>

namespace fusec::acceptance {

using Json = nlohmann::ordered_json;

Report::Report(std::string section, std::filesystem::path file) : file(std::move(file)) {
  rows = {{"section", std::move(section)},
          {"checks", Json::array()},
          {"measurements", Json::array()},
          {"notes", Json::array()},
          {"facts", Json::object()}};
  save();
}

void Report::save() const {
  const std::string text = rows.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (Status status = writeFileAtomically(file, text); !status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
}

void Report::check(const std::string &name, bool passed, const std::string &detail) {
  failed += !passed;
  rows["checks"].push_back({{"name", name}, {"result", passed ? "passed" : "failed"}, {"detail", detail}});
  save();
}

void Report::skip(const std::string &name, const std::string &reason) {
  rows["checks"].push_back({{"name", name}, {"result", "skipped"}, {"detail", reason}});
  save();
}

void Report::measure(const Measurement &measurement) {
  std::vector<double> sorted = measurement.samples;
  if (sorted.empty())
    return note(measurement.name + ": no samples");
  std::sort(sorted.begin(), sorted.end());
  rows["measurements"].push_back({{"name", measurement.name},
                                  {"unit", measurement.unit},
                                  {"median", sorted[sorted.size() / 2]},
                                  {"min", sorted.front()},
                                  {"max", sorted.back()},
                                  {"repeats", sorted.size()},
                                  {"note", measurement.note}});
  save();
}

void Report::note(const std::string &text) {
  rows["notes"].push_back(text);
  save();
}

void Report::fact(const std::string &name, Json value) {
  rows["facts"][name] = std::move(value);
  save();
}

} // namespace fusec::acceptance
