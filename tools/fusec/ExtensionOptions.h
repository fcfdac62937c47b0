//===- ExtensionOptions.h - --fusion-rules and --load-pass-plugin ------------------------------===//
//
// One struct for every verb that compiles:
//
//   ExtensionOptions extensions;
//   extensions.declare(app);
//   compile.extensions = extensions.files;
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "tools/fusec/Compiler.h"

#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace fusec {

struct ExtensionOptions {
  ExtensionFiles files; ///< Its warnings go to standard error.

  /// Adds the options to `app`, in a help group of their own.
  void declare(CLI::App &app);
  /// Each file by its content, for ArtifactKey::options. Errors: NotFound.
  Result<std::vector<std::string>> keyParts() const;
  /// InvalidArgument when files were given for `artifact`, which is compiled already.
  Status checkNoneFor(const std::filesystem::path &artifact) const;
};

} // namespace fusec
