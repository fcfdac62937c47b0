//===- KernelCache.cpp - compiled kernels, kept by content -----------------===//
#include "codegen/cuda/KernelCache.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Digest.h"

#include <charconv>

namespace fusec::codegen {

namespace fs = std::filesystem;

namespace {

/// First word of every entry; another layout gets another word.
constexpr std::string_view magic = "fusec-kernel-2";

/// Parts with their lengths, so that no two different lists join to the same text.
std::string join(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (std::string_view part : parts)
    all.append(std::to_string(part.size())).append(":").append(part);
  return all;
}

/// Takes one "<number>:" and so many bytes from the front of `rest`.
std::optional<std::string> takePart(std::string_view &rest) {
  size_t size = 0;
  const char *end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data(), end, size);
  if (error != std::errc() || stop == end || *stop != ':' || static_cast<size_t>(end - stop - 1) < size)
    return std::nullopt;
  std::string part(stop + 1, size);
  rest = std::string_view(stop + 1 + size, end);
  return part;
}

} // namespace

std::string KernelKey::digest() const {
  std::string all = join({magic, text, library, target, compiler, std::to_string(options.size())});
  for (const std::string &option : options)
    all += join({option});
  return digestText(all);
}

fs::path KernelCache::entryPath(const KernelKey &key) const {
  const std::string digest = key.digest();
  return root / "kernels" / digest.substr(0, 2) / digest;
}

std::optional<NvrtcOutput> KernelCache::find(const KernelKey &key) const {
  Result<std::string> file = readWholeFile(entryPath(key));
  if (!file)
    return std::nullopt;
  std::string_view rest = *file;
  const std::optional<std::string> word = takePart(rest), digest = word ? takePart(rest) : word;
  if (!digest || *word != magic || *digest != digestText(rest))
    return std::nullopt;
  NvrtcOutput output;
  for (std::string *into : {&output.ptx, &output.cubin, &output.log}) {
    std::optional<std::string> part = takePart(rest);
    if (!part)
      return std::nullopt;
    *into = std::move(*part);
  }
  return output;
}

Status KernelCache::store(const KernelKey &key, const NvrtcOutput &output) const {
  const std::string content = join({output.ptx, output.cubin, output.log});
  return writeFileAtomically(entryPath(key), join({magic, digestText(content)}) + content);
}

} // namespace fusec::codegen
