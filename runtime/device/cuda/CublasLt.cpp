//===- CublasLt.cpp -----------------------------------------------------------===//

#include "runtime/device/cuda/CublasLt.h"

namespace fusec::runtime::cuda {

namespace {

/// Prompts are cut into steps of one size and a rest, so that few extents come back; all others are made again.
constexpr size_t mostPrepared = 256;

std::string describeProduct(const GpuProduct &product) {
  const auto text = [](int64_t value) { return std::to_string(value); };
  return std::string("cuBLASLt: ") + (product.operand == GpuOperand::F16 ? "f16" : "bf16") + " product [" +
         text(product.tokens) + ", " + text(product.summed) + "] x [" + text(product.outputs) + ", " +
         text(product.summed) + "]^T";
}

void *pointer(GpuAddress address) { return reinterpret_cast<void *>(address); }

} // namespace

CublasLt::Prepared::~Prepared() {
  for (BlasObject layout : {a, b, d})
    if (layout)
      (void)api->cublasLtMatrixLayoutDestroy(layout);
  if (desc)
    (void)api->cublasLtMatmulDescDestroy(desc);
}

Result<std::unique_ptr<CublasLt>> CublasLt::create(std::shared_ptr<CudaContext> context, GpuBuffer workspace) {
  FUSEC_ASSIGN_OR_RETURN(std::shared_ptr<const CublasLtApi> api, CublasLtApi::load());
  std::unique_ptr<CublasLt> products(new CublasLt(std::move(context), std::move(api), std::move(workspace)));
  FUSEC_RETURN_IF_ERROR(products->start());
  return products;
}

Status CublasLt::start() {
  ContextScope scope(*context);
  FUSEC_RETURN_IF_ERROR(api->check(api->cublasLtCreate(&handle), "starting " + name()));
  FUSEC_RETURN_IF_ERROR(api->check(api->cublasLtMatmulPreferenceCreate(&preference), "starting " + name()));
  const size_t most = static_cast<size_t>(workspace.bytes());
  return api->check(api->cublasLtMatmulPreferenceSetAttribute(preference, BlasPrefMaxWorkspace, &most, sizeof most),
                    "starting " + name());
}

CublasLt::~CublasLt() {
  ContextScope scope(*context);
  prepared.clear();
  if (preference)
    (void)api->cublasLtMatmulPreferenceDestroy(preference);
  if (handle)
    (void)api->cublasLtDestroy(handle);
}

Status CublasLt::describe(Prepared &made, const GpuProduct &product) const {
  const int type = product.operand == GpuOperand::F16 ? BlasReal16F : BlasReal16BF, transposed = BlasTransposed;
  const uint32_t epilogue = BlasEpilogueBias;
  const auto t = static_cast<uint64_t>(product.tokens), n = static_cast<uint64_t>(product.outputs),
             k = static_cast<uint64_t>(product.summed);
  BlasStatus status = api->cublasLtMatmulDescCreate(&made.desc, BlasCompute32F, BlasReal32F);
  if (status == 0)
    status = api->cublasLtMatmulDescSetAttribute(made.desc, BlasDescTransposeA, &transposed, sizeof transposed);
  if (status == 0 && product.bias)
    status = api->cublasLtMatmulDescSetAttribute(made.desc, BlasDescEpilogue, &epilogue, sizeof epilogue);
  if (status == 0)
    status = api->cublasLtMatrixLayoutCreate(&made.a, type, k, n, product.summed);
  if (status == 0)
    status = api->cublasLtMatrixLayoutCreate(&made.b, type, k, t, product.summed);
  if (status == 0)
    status = api->cublasLtMatrixLayoutCreate(&made.d, BlasReal32F, n, t, product.outputs);
  return api->check(status, "describing");
}

/// The bias's address is an attribute, not an argument.
Status CublasLt::setBias(const Prepared &made, const GpuProduct &product) const {
  if (!product.bias)
    return {};
  const void *bias = pointer(product.bias);
  return api->check(api->cublasLtMatmulDescSetAttribute(made.desc, BlasDescBiasPointer, &bias, sizeof bias),
                    "describing");
}

Status CublasLt::choose(Prepared &made, const GpuProduct &product) const {
  FUSEC_RETURN_IF_ERROR(setBias(made, product));
  BlasHeuristic best{};
  int found = 0;
  FUSEC_RETURN_IF_ERROR(api->check(api->cublasLtMatmulAlgoGetHeuristic(handle, made.desc, made.a, made.b, made.d,
                                                                       made.d, preference, 1, &best, &found),
                                   "choosing an algorithm"));
  if (found == 0 || best.state != 0)
    return unsupported("the library offers no algorithm");
  made.algorithm = best.algorithm;
  return {};
}

Result<CublasLt::Prepared *> CublasLt::preparedFor(const GpuProduct &product) {
  constexpr GpuAddress alignment = 256;
  const Key key{product.tokens,      product.outputs,   product.summed,          product.operand,
                product.addend != 0, product.bias != 0, product.bias % alignment};
  if (auto known = prepared.find(key); known != prepared.end())
    return known->second.get();
  auto made = std::make_unique<Prepared>(api);
  FUSEC_RETURN_IF_ERROR(describe(*made, product));
  FUSEC_RETURN_IF_ERROR(choose(*made, product));
  if (prepared.size() >= mostPrepared)
    prepared.clear();
  return (prepared[key] = std::move(made)).get();
}

Status CublasLt::multiply(GpuStream &stream, const GpuProduct &product) {
  ContextScope scope(*context);
  Result<Prepared *> made = preparedFor(product);
  if (!made)
    return made.status().withContext(describeProduct(product));
  FUSEC_RETURN_IF_ERROR(setBias(**made, product));
  const float one = 1, beta = product.addend ? 1 : 0;
  const void *addend = pointer(product.addend ? product.addend : product.result);
  return api->check(api->cublasLtMatmul(
                        handle, (*made)->desc, &one, pointer(product.weights), (*made)->a, pointer(product.rows),
                        (*made)->b, &beta, addend, (*made)->d, pointer(product.result), (*made)->d, &(*made)->algorithm,
                        pointer(workspace.address()), static_cast<size_t>(workspace.bytes()), stream.nativeHandle()),
                    describeProduct(product));
}

} // namespace fusec::runtime::cuda
