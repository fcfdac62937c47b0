//===- CublasLt.h - products by cuBLASLt --------------------------------------===//
//
// The library sees matrices by columns: what lies in memory as rows[T, K] is its
// K x T. So a product is
//
//   D (N x T) = A^T (N x K) * B (K x T) + C,   A = weights, B = rows, C = addend
//
// Everything about a product but its addresses is made once per extents, the
// library's first choice of an algorithm included, and kept.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/gpu/GpuProducts.h"

#include <map>
#include <tuple>

namespace fusec::runtime::cuda {

class CublasLt final : public GpuProducts {
public:
  /// `workspace`: device memory of `context`. Errors: CublasLtApi::load's, and those of starting the library.
  static Result<std::unique_ptr<CublasLt>> create(std::shared_ptr<CudaContext> context, GpuBuffer workspace);
  ~CublasLt() override;

  const std::string &name() const override { return api->name; }
  int64_t workspaceBytes() const override { return workspace.bytes(); }
  Status multiply(GpuStream &stream, const GpuProduct &product) override;

private:
  /// A product but for its addresses; owns its objects.
  struct Prepared {
    std::shared_ptr<const CublasLtApi> api;
    BlasObject desc = nullptr, a = nullptr, b = nullptr, d = nullptr;
    BlasAlgorithm algorithm{};
    explicit Prepared(std::shared_ptr<const CublasLtApi> api) : api(std::move(api)) {}
    ~Prepared();
    Prepared(const Prepared &) = delete;
    Prepared &operator=(const Prepared &) = delete;
  };
  /// All that a choice depends on: extents, operands, what is added, the bias's alignment.
  using Key = std::tuple<int64_t, int64_t, int64_t, GpuOperand, bool, bool, GpuAddress>;

  CublasLt(std::shared_ptr<CudaContext> context, std::shared_ptr<const CublasLtApi> api, GpuBuffer workspace)
      : context(std::move(context)), api(std::move(api)), workspace(std::move(workspace)) {}
  Status start();
  Result<Prepared *> preparedFor(const GpuProduct &product);
  Status describe(Prepared &prepared, const GpuProduct &product) const;
  Status choose(Prepared &prepared, const GpuProduct &product) const;
  Status setBias(const Prepared &prepared, const GpuProduct &product) const;

  std::shared_ptr<CudaContext> context;
  std::shared_ptr<const CublasLtApi> api;
  GpuBuffer workspace;
  BlasObject handle = nullptr, preference = nullptr;
  std::map<Key, std::unique_ptr<Prepared>> prepared;
};

} // namespace fusec::runtime::cuda
