//===- VerifyArtifacts.cpp -------------------------------------------------===//
#include "tools/fusec/VerifyArtifacts.h"

#include "runtime/base/AtomicFile.h"

namespace fusec {

namespace fs = std::filesystem;

static void removeTree(const fs::path &path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

VerifyArtifact::Directory::Directory(fs::path given) : path(std::move(given)), cleanup([p = path] { removeTree(p); }) {}

VerifyArtifact::Directory::~Directory() { removeTree(path); }

Result<VerifyArtifact> VerifyArtifact::compile(const fs::path &scratch, CompileOptions options) {
  std::error_code error;
  fs::create_directories(scratch, error);
  if (error)
    return notFound("'" + scratch.string() + "': cannot create: " + error.message());
  VerifyArtifact artifact(std::make_unique<Directory>(uniqueTemporary(scratch)));
  options.output = artifact.path();
  FUSEC_RETURN_IF_ERROR(compileModel(options).status());
  return artifact;
}

} // namespace fusec
