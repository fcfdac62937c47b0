//===- KernelCache.h - compiled kernels, kept by content -------------------===//
//
// Layout: <root>/kernels/<first two digits of the key>/<key>. An entry is one
// file with its own digest, written beside its place and renamed: writers may
// race, and an entry that is cut short, changed or of another format is a miss.
//
// The key is the digest of everything that decides what NVRTC writes; budgets
// are not part of it, because the log they are checked against is kept.
//
// Threading: const methods may run at once, also in several processes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/Nvrtc.h"

#include <optional>

namespace fusec::codegen {

/// Everything that decides the result of a compilation.
struct KernelKey {
  std::string text;                 ///< CUDA C++.
  std::string library;              ///< digestHeaders of what it may include.
  std::vector<std::string> options; ///< In order.
  std::string target;               ///< "sm_90a".
  std::string compiler;             ///< Nvrtc::identity().

  /// 32 hexadecimal digits.
  std::string digest() const;
};

class KernelCache {
public:
  explicit KernelCache(std::filesystem::path root) : root(std::move(root)) {}

  std::optional<NvrtcOutput> find(const KernelKey &key) const;
  /// Errors of the file system; the cache is then as before.
  Status store(const KernelKey &key, const NvrtcOutput &output) const;
  /// The file of an entry, there or not.
  std::filesystem::path entryPath(const KernelKey &key) const;

private:
  std::filesystem::path root;
};

} // namespace fusec::codegen
