//===- DeviceLibrary.cpp - the headers that kernels include ----------------===//
#include "codegen/cuda/DeviceLibrary.h"

#include "runtime/base/Digest.h"

namespace fusec::codegen {

/// Written by EmbedFiles.cmake: `constexpr CudaHeader embedded[]`, the last row empty.
#include "codegen/cuda/DeviceLibrary.inc"

std::span<const CudaHeader> deviceLibrary() { return std::span(embedded).first(std::size(embedded) - 1); }

std::string digestHeaders(std::span<const CudaHeader> headers) {
  std::string all;
  for (const CudaHeader &header : headers)
    for (std::string_view part : {header.name, header.text})
      all.append(std::to_string(part.size())).append(":").append(part);
  return digestText(all);
}

} // namespace fusec::codegen
