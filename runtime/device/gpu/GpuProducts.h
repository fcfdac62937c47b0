//===- GpuProducts.h - matrix products by a device's library ------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuProducts> products, device->openProducts());
//   FUSEC_RETURN_IF_ERROR(products->multiply(*stream, {GpuOperand::BF16, 512, 4096, 4096, x, w, y}));
//
// Threading: one user at a time; must die before its device.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"

#include <string>

namespace fusec::runtime {

/// What both operands are stored as.
enum class GpuOperand : uint8_t { F16, BF16 };

/// result[t, n] = sum over k of rows[t, k] * weights[n, k], then + addend[t, n] or bias[n]. All row-major without gaps,
/// sums, addend, bias and result in f32. Matrices are aligned to 256 bytes; `outputs` and `summed` are multiples of 8.
struct GpuProduct {
  GpuOperand operand = GpuOperand::BF16;
  int64_t tokens = 0, outputs = 0, summed = 0; ///< Extents of t, n, k; all positive.
  GpuAddress rows = 0, weights = 0, result = 0;
  GpuAddress addend = 0, bias = 0; ///< At most one; 0: none. The result may not be the addend.
};

class GpuProducts {
public:
  virtual ~GpuProducts() = default;
  /// "cuBLASLt 13.0".
  virtual const std::string &name() const = 0;
  /// Device memory that calls share.
  virtual int64_t workspaceBytes() const = 0;
  /// Enqueues the product. The order of its sums is the library's and depends on all three extents. Not while
  /// the stream captures: the library may choose anew.
  virtual Status multiply(GpuStream &stream, const GpuProduct &product) = 0;
};

} // namespace fusec::runtime
