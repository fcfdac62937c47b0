//===- Artifact.cpp ----------------------------------------------------------===//

#include "runtime/exec/Artifact.h"

namespace fusec::runtime {

Result<Artifact> Artifact::open(const std::filesystem::path &directory) {
  std::error_code ec;
  std::filesystem::path manifestPath = directory / "manifest.json";
  if (!std::filesystem::is_regular_file(manifestPath, ec))
    return notFound(directory.string() + ": no artifact here, expected a directory with a manifest.json");
  FUSEC_ASSIGN_OR_RETURN(MappedFile text, MappedFile::open(manifestPath));
  FUSEC_ASSIGN_OR_RETURN(MappedFile weights, MappedFile::open(directory / "weights.bin"));
  std::string_view json(reinterpret_cast<const char *>(text.bytes().data()), text.size());
  FUSEC_ASSIGN_OR_RETURN(Manifest manifest,
                         parseManifest(json, manifestPath.string(), static_cast<int64_t>(weights.size())));
  return Artifact{directory, std::move(manifest), std::move(weights)};
}

} // namespace fusec::runtime
