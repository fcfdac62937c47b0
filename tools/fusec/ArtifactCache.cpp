//===- ArtifactCache.cpp - compiled models, kept by content ----------------===//
#include "tools/fusec/ArtifactCache.h"

#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Interrupt.h"
#include "tools/fusec/OwnedDirectory.h"

#include <algorithm>
#include <sys/stat.h>

namespace fusec {

namespace fs = std::filesystem;

static constexpr const char *sealName = "seal";

std::string ArtifactKey::text() const {
  // Each part with its length, so that no two different keys join to the same text.
  std::string all;
  auto add = [&all](const std::string &part) { all += std::to_string(part.size()) + ':' + part; };
  add(modelDigest);
  add(compilerVersion);
  add(std::to_string(levels.size()));
  for (const std::string &level : levels)
    add(level);
  for (const std::string &option : options)
    add(option);
  return digestText(all);
}

fs::path ArtifactCache::entryPath(const ArtifactKey &key) const { return root / "artifacts" / key.text(); }

//===----------------------------------------------------------------------===//
// Seal
//===----------------------------------------------------------------------===//

/// All files of an entry but the seal, relative, sorted. Empty when it cannot be listed.
static std::vector<fs::path> entryFiles(const fs::path &entry) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(entry, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error) && it->path().filename() != sealName)
      files.push_back(it->path().lexically_relative(entry));
  if (error)
    return {};
  std::sort(files.begin(), files.end());
  return files;
}

/// One line per file: name, size, time. Equal lines mean untouched files; a full digest of the
/// weights at every start would cost more than the start.
static std::string describeFiles(const fs::path &entry) {
  std::string text;
  for (const fs::path &file : entryFiles(entry)) {
    struct stat info{};
    if (stat((entry / file).c_str(), &info) != 0)
      return {};
    text += file.string() + ' ' + std::to_string(info.st_size) + ' ' + std::to_string(info.st_mtim.tv_sec) + '.' +
            std::to_string(info.st_mtim.tv_nsec) + '\n';
  }
  return text;
}

static bool isWhole(const fs::path &entry) {
  Result<std::string> seal = readWholeFile(entry / sealName);
  return seal && !seal->empty() && *seal == describeFiles(entry);
}

std::optional<fs::path> ArtifactCache::find(const ArtifactKey &key) const {
  fs::path entry = entryPath(key);
  if (!isWhole(entry))
    return std::nullopt;
  return entry;
}

//===----------------------------------------------------------------------===//
// Build and publish
//===----------------------------------------------------------------------===//

Status ArtifactCache::remove(const ArtifactKey &key) const {
  std::error_code error;
  if (fs::exists(entryPath(key), error))
    OwnedDirectory::moveAwayAndRemove(entryPath(key));
  if (fs::exists(entryPath(key), error))
    return notFound("'" + entryPath(key).string() + "': cannot remove from the cache");
  return {};
}

Result<fs::path> ArtifactCache::publish(const fs::path &built, const fs::path &entry) const {
  std::error_code error;
  // Two attempts: another process may publish a whole entry, or leave a damaged one, in between.
  for (int attempt = 0; attempt < 2; ++attempt) {
    fs::rename(built, entry, error);
    if (!error)
      return entry;
    if (isWhole(entry))
      return entry;
    OwnedDirectory::moveAwayAndRemove(entry);
  }
  return internalError("'" + entry.string() + "': cannot publish the compiled model");
}

Result<fs::path> ArtifactCache::findOrBuild(const ArtifactKey &key, const Build &build) const {
  if (std::optional<fs::path> entry = find(key))
    return *entry;
  const fs::path entry = entryPath(key);
  std::error_code error;
  fs::create_directories(entry.parent_path(), error);
  if (error)
    return notFound("'" + entry.parent_path().string() + "': cannot create: " + error.message());
  OwnedDirectory::removeAbandoned(entry.parent_path()); // Of compiles that were killed.
  FUSEC_ASSIGN_OR_RETURN(OwnedDirectory owned, OwnedDirectory::create(entry.parent_path()));
  const fs::path artifact = owned.path() / "artifact";
  InterruptCleanup cleanup([path = owned.path()] {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  });
  FUSEC_RETURN_IF_ERROR(build(artifact));
  FUSEC_RETURN_IF_ERROR(writeFileAtomically(artifact / sealName, describeFiles(artifact)));
  return publish(artifact, entry);
}

} // namespace fusec
