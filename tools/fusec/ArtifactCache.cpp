//===- ArtifactCache.cpp - compiled models, kept by content ----------------===//
#include "tools/fusec/ArtifactCache.h"

#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Interrupt.h"

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

/// Moved away in one step, then deleted, so that nobody sees it half gone.
static void moveAwayAndDelete(const fs::path &entry) {
  const fs::path trash = uniqueTemporary(entry.parent_path());
  std::error_code error;
  fs::rename(entry, trash, error);
  fs::remove_all(trash, error);
}

Status ArtifactCache::remove(const ArtifactKey &key) const {
  std::error_code error;
  if (fs::exists(entryPath(key), error))
    moveAwayAndDelete(entryPath(key));
  if (fs::exists(entryPath(key), error))
    return notFound("'" + entryPath(key).string() + "': cannot remove from the cache");
  return {};
}

/// Temporaries of compiles that were killed; a living one is never a day old.
void ArtifactCache::removeAbandoned() const {
  std::error_code error;
  const auto limit = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (const fs::directory_entry &entry : fs::directory_iterator(root / "artifacts", error)) {
    const bool temporary = entry.path().filename().string().starts_with(".tmp-");
    if (temporary && entry.last_write_time(error) < limit)
      fs::remove_all(entry.path(), error);
  }
}

Result<fs::path> ArtifactCache::publish(const fs::path &built, const fs::path &entry) const {
  std::error_code error;
  // Two attempts: another process may publish a whole entry, or leave a damaged one, in between.
  for (int attempt = 0; attempt < 2; ++attempt) {
    fs::rename(built, entry, error);
    if (!error)
      return entry;
    if (isWhole(entry)) {
      fs::remove_all(built, error);
      return entry;
    }
    moveAwayAndDelete(entry);
  }
  fs::remove_all(built, error);
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
  removeAbandoned();
  const fs::path temporary = uniqueTemporary(entry.parent_path());
  auto discard = [temporary] {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
  };
  InterruptCleanup cleanup(discard);
  Status status = build(temporary);
  if (status.ok())
    status = writeFileAtomically(temporary / sealName, describeFiles(temporary));
  if (!status.ok()) {
    discard();
    return status;
  }
  return publish(temporary, entry);
}

} // namespace fusec
