//===- Text.h - a string that remembers where its bytes came from ------------===//
//
// Every string value of a template is a Text: UTF-8 bytes plus runs that say
// whether the bytes were written by the template (trusted) or came from the
// request. Concatenation, slicing and copying keep the runs, so a control token
// spelled by a user never looks like one of the template's own markers.
//
//   Text t("<|im_start|>", /*trusted=*/true);
//   t.append(content, /*trusted=*/false);
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::text::jinja {

class Text {
public:
  /// Bytes from the previous run's end (or 0) up to `end` share one origin.
  struct Run {
    size_t end;
    bool trusted;
  };

  Text() = default;
  Text(std::string bytes, bool trusted) : data(std::move(bytes)) {
    if (!data.empty())
      runList.push_back({data.size(), trusted});
  }

  const std::string &bytes() const { return data; }
  std::string_view view() const { return data; }
  size_t size() const { return data.size(); }
  bool empty() const { return data.empty(); }
  const std::vector<Run> &runs() const { return runList; }
  /// True when no byte came from the request.
  bool allTrusted() const;
  /// Origin of the byte at `pos`; an empty text counts as trusted.
  bool trustedAt(size_t pos) const;

  void append(std::string_view bytes, bool trusted);
  void append(const Text &other) { append(other, 0, other.size()); }
  /// Appends bytes [begin, end) of `other` with their origins.
  void append(const Text &other, size_t begin, size_t end);
  /// Bytes [begin, end), same markup flag.
  Text slice(size_t begin, size_t end) const;

  /// markupsafe's Markup: `+`, `%`, join and replace escape what they take in.
  bool markup = false;

private:
  std::string data;
  std::vector<Run> runList;
};

} // namespace fusec::text::jinja
