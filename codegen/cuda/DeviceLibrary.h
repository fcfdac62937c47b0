//===- DeviceLibrary.h - the headers that kernels include ------------------===//
//
// The files of codegen/cuda/device and runtime/schema/SamplingMath.h, carried in the binary: compiling a kernel
// needs no file of fusec's. They refer to each other by file name alone
// (`#include "tile.cuh"`), and include nothing of the CUDA toolkit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fusec::codegen {

/// A file as `#include "name"` finds it.
struct CudaHeader {
  std::string_view name, text;
};

/// All headers, sorted by name.
std::span<const CudaHeader> deviceLibrary();

/// Of a set of headers, names and texts; part of the key of every compiled kernel.
std::string digestHeaders(std::span<const CudaHeader> headers);

} // namespace fusec::codegen
