//===- PageFiles.cpp - the files of the web page ------------------------------------===//
#include "serve/web/PageFiles.h"

#include "runtime/base/Digest.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace fusec::serve {

namespace {
struct EmbeddedFile {
  std::string_view name, text;
};
} // namespace

/// Written by EmbedFiles.cmake: `constexpr EmbeddedFile embedded[]`, the last row empty.
#include "serve/web/PageFiles.inc"

static constexpr std::pair<std::string_view, std::string_view> contentTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
};

static std::string contentTypeOf(std::string_view name) {
  const auto row = std::find_if(std::begin(contentTypes), std::end(contentTypes),
                                [&](const auto &type) { return name.ends_with(type.first); });
  return row == std::end(contentTypes) ? "application/octet-stream" : std::string(row->second);
}

static std::vector<PageFile> makeTable() {
  std::vector<PageFile> files;
  for (const EmbeddedFile &file : embedded)
    if (!file.name.empty())
      files.push_back({file.name, contentTypeOf(file.name), file.text, '"' + digestText(std::string(file.text)) + '"'});
  return files;
}

const PageFile *findPageFile(std::string_view name) {
  static const std::vector<PageFile> files = makeTable();
  const auto found = std::find_if(files.begin(), files.end(), [&](const PageFile &file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

} // namespace fusec::serve
