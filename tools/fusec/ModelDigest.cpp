//===- ModelDigest.cpp - identity of a model by its content ----------------===//
#include "tools/fusec/ModelDigest.h"

#include "runtime/base/AtomicFile.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <regex>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fusec {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Kind and files
//===----------------------------------------------------------------------===//

/// The first bytes of a file; empty when it cannot be read.
static std::string readPrefix(const fs::path &path, size_t count) {
  std::string prefix(count, '\0');
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  const ssize_t got = read(file, prefix.data(), count);
  close(file);
  prefix.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return prefix;
}

Result<ModelKind> detectModelKind(const fs::path &path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return notFound("'" + path.string() + "': no such file or directory");
  if (fs::is_directory(status)) {
    if (fs::exists(path / "manifest.json", error))
      return ModelKind::Artifact;
    if (fs::exists(path / "config.json", error))
      return ModelKind::HuggingFace;
    return unsupported("'" + path.string() +
                       "': expected a Hugging Face directory (with config.json) or an artifact "
                       "(with manifest.json), found neither file");
  }
  if (readPrefix(path, 4) == "GGUF")
    return ModelKind::Gguf;
  return unsupported("'" + path.string() +
                     "': expected a GGUF file (first bytes \"GGUF\"), a Hugging Face directory or "
                     "an artifact directory");
}

/// All parts of `<name>-00001-of-0000N.gguf`; the file itself when it is not split.
static std::vector<fs::path> ggufParts(const fs::path &path) {
  static const std::regex pattern("(.*)-([0-9]{5})-of-([0-9]{5})\\.gguf");
  const std::string name = path.filename().string();
  std::smatch match;
  if (!std::regex_match(name, match, pattern))
    return {path};
  std::vector<fs::path> parts;
  const int count = std::stoi(match[3]); // Five digits: cannot overflow.
  for (int part = 1; part <= count; ++part) {
    std::string number = std::to_string(part);
    number.insert(0, 5 - number.size(), '0');
    parts.push_back(path.parent_path() / (match[1].str() + "-" + number + "-of-" + match[3].str() + ".gguf"));
  }
  return parts;
}

/// Files of a Hugging Face directory that can change what fusec makes of it.
static bool matters(const fs::path &file) {
  static constexpr std::array extensions = {".json", ".safetensors", ".jinja", ".model"};
  return std::find(extensions.begin(), extensions.end(), file.extension().string()) != extensions.end();
}

Result<std::vector<fs::path>> modelFiles(const fs::path &model, ModelKind kind) {
  if (kind == ModelKind::Gguf)
    return ggufParts(model);
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(model, error))
    if (entry.is_regular_file(error) && matters(entry.path()))
      files.push_back(entry.path());
  if (error)
    return notFound("'" + model.string() + "': cannot list: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

//===----------------------------------------------------------------------===//
// Digest
//===----------------------------------------------------------------------===//

static std::string hexadecimal(XXH128_hash_t hash) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

/// Feeds a file's bytes, size and `name`; read() rather than mmap, so that a file that shrinks
/// meanwhile is an error and not a SIGBUS.
static Status updateWithFile(XXH3_state_t &state, const fs::path &path, const std::string &name) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return notFound("'" + path.string() + "': cannot open: " + std::generic_category().message(errno));
  std::vector<char> block(1 << 20);
  uint64_t size = 0;
  ssize_t got = 0;
  while ((got = read(file, block.data(), block.size())) > 0) {
    XXH3_128bits_update(&state, block.data(), static_cast<size_t>(got));
    size += static_cast<uint64_t>(got);
  }
  close(file);
  if (got < 0)
    return corruptData("'" + path.string() + "': cannot read");
  const std::string trailer = name + '\0' + std::to_string(size) + '\0';
  XXH3_128bits_update(&state, trailer.data(), trailer.size());
  return {};
}

Result<std::string> digestFiles(const std::vector<fs::path> &files) {
  alignas(64) XXH3_state_t state;
  XXH3_128bits_reset(&state);
  // A single file may be renamed and stays the same model; in a set the names carry meaning.
  for (const fs::path &file : files)
    FUSEC_RETURN_IF_ERROR(updateWithFile(state, file, files.size() > 1 ? file.filename().string() : ""));
  return hexadecimal(XXH3_128bits_digest(&state));
}

//===----------------------------------------------------------------------===//
// Index
//===----------------------------------------------------------------------===//

/// One line per file: what must be unchanged for a stored digest to hold. Empty when a file cannot
/// be looked at, or changed so recently that a further change could leave its time the same.
static std::string stamp(const std::vector<fs::path> &files) {
  std::string text;
  const time_t now = std::time(nullptr);
  for (const fs::path &path : files) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0 || info.st_mtim.tv_sec >= now - 1)
      return {};
    std::error_code error;
    text += fs::absolute(path, error).lexically_normal().string() + ' ' + std::to_string(info.st_dev) + ' ' +
            std::to_string(info.st_ino) + ' ' + std::to_string(info.st_size) + ' ' +
            std::to_string(info.st_mtim.tv_sec) + '.' + std::to_string(info.st_mtim.tv_nsec) + '\n';
  }
  return text;
}

/// The digest in an index entry, if the entry is whole and its stamp is `expected`.
static std::optional<std::string> digestInEntry(const std::string &entry, const std::string &expected) {
  constexpr size_t digits = 32;
  if (entry.size() != expected.size() + digits || entry.compare(digits, std::string::npos, expected))
    return std::nullopt;
  std::string digest = entry.substr(0, digits);
  if (digest.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  return digest;
}

Result<std::string> DigestIndex::digestOf(const std::vector<fs::path> &files) const {
  const std::string before = stamp(files);
  if (directory.empty() || before.empty())
    return digestFiles(files);
  const fs::path entry = directory / digestText(before.substr(0, before.find(' ')));
  if (Result<std::string> stored = readWholeFile(entry))
    if (std::optional<std::string> digest = digestInEntry(*stored, before))
      return *digest;
  FUSEC_ASSIGN_OR_RETURN(std::string digest, digestFiles(files));
  // The index only saves time: a failure to write it is none of the user's concern.
  if (stamp(files) == before)
    (void)writeFileAtomically(entry, digest + before);
  return digest;
}

} // namespace fusec
