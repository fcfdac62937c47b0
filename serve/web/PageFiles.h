//===- PageFiles.h - the files of the web page --------------------------------------===//
//
//   if (const PageFile *file = findPageFile("app.js"))
//     exchange->respond({.contentType = file->contentType, .body = std::string(file->text)});
//
// The files of serve/web, embedded when the library is built: a server needs
// no folder beside it. Threading: any.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace fusec::serve {

struct PageFile {
  std::string_view name; ///< "index.html", "app.js", ...
  std::string contentType;
  std::string_view text;
  std::string etag; ///< Quoted; changes with the text.
};

/// Null for a name that is no file of the page.
const PageFile *findPageFile(std::string_view name);

} // namespace fusec::serve
