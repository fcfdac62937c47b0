//===- VerifyArtifacts.h - variants of one model, compiled for a moment ----===//
//
// A variant lives in a directory of its own that is removed with the object,
// also when the process is interrupted; nothing of it enters the cache.
//
//   FUSEC_ASSIGN_OR_RETURN(VerifyArtifact unfused, VerifyArtifact::compile(scratch, options));
//   ... unfused.path() ...
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "tools/fusec/Compiler.h"
#include "tools/fusec/Interrupt.h"

#include <filesystem>
#include <memory>

namespace fusec {

class VerifyArtifact {
public:
  /// `scratch` is created when missing; `options.output` is set here.
  static Result<VerifyArtifact> compile(const std::filesystem::path &scratch, CompileOptions options);
  VerifyArtifact(VerifyArtifact &&) = default;
  VerifyArtifact &operator=(VerifyArtifact &&) = default;

  const std::filesystem::path &path() const { return directory->path; }

private:
  struct Directory {
    explicit Directory(std::filesystem::path path);
    ~Directory();
    std::filesystem::path path;
    InterruptCleanup cleanup;
  };
  explicit VerifyArtifact(std::unique_ptr<Directory> directory) : directory(std::move(directory)) {}

  std::unique_ptr<Directory> directory;
};

} // namespace fusec
