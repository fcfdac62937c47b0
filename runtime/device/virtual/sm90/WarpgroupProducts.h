//===- WarpgroupProducts.h - wgmma in flight ---------------------------------===//
//
// Each warp of a warpgroup computes its 16 rows of D = A B + D on its own; what
// makes it a group is that all four take part. A product reads A's registers, B's
// shared memory and D's registers when the policy says so, at the latest when its
// group is waited for: who overwrites them too early, computes with what it wrote.
// Until then D's registers hold NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fusec::virtualgpu {

class Block;
class Warp;
struct Instr;

/// One operand in shared memory, as its 64-bit descriptor says.
struct MatrixDescriptor {
  uint32_t start, leading, stride; ///< Bytes.
  uint32_t rowBytes;               ///< 16 (no swizzle), 32, 64 or 128.

  static MatrixDescriptor parse(uint64_t bits);
  /// Byte of element (k, n) of two bytes; `kMajor`: k lies side by side.
  uint32_t offset(uint32_t k, uint32_t n, bool kMajor) const;
};

class WarpgroupProducts {
public:
  struct Product {
    uint32_t list = 0;     ///< Slots in Program::lists: D, then A.
    uint32_t columns = 0;  ///< N.
    MatrixDescriptor a, b; ///< a: only when it lies in shared memory.
    bool aInRegisters = true, aKMajor = true, bKMajor = true, isHalf = false;
    bool keeps = false; ///< D is added to.
    bool negatesA = false, negatesB = false;
    uint32_t group = 0;
    bool computed = false;
    std::vector<float> sums; ///< D before, where no earlier product in flight makes it.
  };

  void reset(uint32_t warps);
  void issue(Warp &warp, Product product);
  void commit(Warp &warp);
  /// Completes all but the last `pending` groups.
  void wait(Warp &warp, uint32_t pending);
  /// Products nobody waited for.
  std::size_t inFlight(uint32_t warp) const { return warps[warp].products.size(); }

private:
  struct State {
    uint32_t committed = 0;
    std::vector<Product> products;
  };
  void compute(Warp &warp, const Product &product);
  /// Charges the reads of shared memory now; false after a fault.
  bool checkOperands(Warp &warp, const Product &product);
  std::vector<State> warps;
};

} // namespace fusec::virtualgpu
