//===- Text.cpp - a string that remembers where its bytes came from ----------===//
#include "runtime/text/jinja/Text.h"

#include <algorithm>

namespace fusec::text::jinja {

bool Text::allTrusted() const {
  return std::all_of(runList.begin(), runList.end(), [](const Run &r) { return r.trusted; });
}

bool Text::trustedAt(size_t pos) const {
  auto run = std::upper_bound(runList.begin(), runList.end(), pos, [](size_t p, const Run &r) { return p < r.end; });
  return run == runList.end() || run->trusted;
}

void Text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty())
    return;
  data += bytes;
  if (!runList.empty() && runList.back().trusted == trusted)
    runList.back().end = data.size();
  else
    runList.push_back({data.size(), trusted});
}

void Text::append(const Text &other, size_t begin, size_t end) {
  auto run = std::upper_bound(other.runList.begin(), other.runList.end(), begin,
                              [](size_t p, const Run &r) { return p < r.end; });
  for (; begin < end && run != other.runList.end(); ++run) {
    size_t stop = std::min(run->end, end);
    append(other.view().substr(begin, stop - begin), run->trusted);
    begin = stop;
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text out;
  out.markup = markup;
  out.append(*this, begin, end);
  return out;
}

} // namespace fusec::text::jinja
