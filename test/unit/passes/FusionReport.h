//===- FusionReport.h - what the passes made of a graph, and why ----------------===//
//
//   FusionReport report = fuseGraph(text);
//   EXPECT_EQ(report.launches, (std::vector<std::string>{"cascade"}));
//   EXPECT_TRUE(report.missed("derive", "separable"));
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

namespace fusec::differential {

/// Whether dependent reductions over one dimension become one loop. While this is false, the checks of
/// results run as always (with finite garbage for NaN where kernels multiply hidden values by 0) and
/// those of kernel counts are left out.
inline constexpr bool derivationIsThere = true;

struct FusionReport {
  struct Remark {
    bool fused;
    std::string kind, text;
  };

  std::string error; ///< Empty when every pass succeeded.
  std::vector<Remark> remarks;
  /// Per launch, what its kernel does: the `form` of its schedule. Appends to caches are left out.
  std::vector<std::string> launches;
  int64_t cascades = 0; ///< Ops that carry a `cascade`.

  /// One kernel of a loop over dependent reductions, and at most one launch that merges its parts.
  bool isOneCascade() const;
  /// Whether a derivation was taken.
  bool derived() const;
  /// Whether a remark of the kind says that something was not fused, with `words` in its text.
  bool missed(const std::string &kind, const std::string &words) const;
  /// Everything, for a failing test's message.
  std::string toString() const;
};

FusionReport fuseGraph(const std::string &text);

} // namespace fusec::differential
