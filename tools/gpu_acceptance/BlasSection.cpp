//===- BlasSection.cpp - cuBLASLt's products, as a plan calls them ------------------===//
//
// Where the library can be loaded: Y[T x n] = X[T x k] W[n x k]^T, operands in bf16,
// sums and Y in f32, by the same calls as a plan's library_product. What a plan's
// kernels take for the same sizes is in the section `shapes`.
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/EventTimer.h"
#include "tools/gpu_acceptance/Section.h"

#include "runtime/device/gpu/GpuProducts.h"
#include "runtime/device/gpu/OpenGpuDevice.h"

namespace fusec::acceptance {

using namespace fusec::runtime;

namespace {

struct Size {
  int64_t n, k;
};
constexpr Size sizes[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}};
constexpr int64_t tokenCounts[] = {1, 8, 16, 64, 512, 1024};

class Blas {
public:
  Blas(GpuDevice &device, GpuStream &stream, GpuProducts &products, Report &report)
      : device(device), stream(stream), products(products), report(report) {}
  Status measure(Size size, int64_t tokens);

private:
  GpuDevice &device;
  GpuStream &stream;
  GpuProducts &products;
  Report &report;
};

/// Weights are taken from several copies in turn, so that the L2 cache never holds them.
Status Blas::measure(Size size, int64_t tokens) {
  const int64_t weightBytes = size.n * size.k * 2;
  const int64_t copies = (int64_t(256) << 20) / weightBytes + 1;
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer weights, device.allocate(copies * weightBytes, "weights"));
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer x, device.allocate(tokens * size.k * 2, "x"));
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer y, device.allocate(tokens * size.n * 4, "y"));
  FUSEC_RETURN_IF_ERROR(stream.fill(weights.address(), 0x3b, weights.bytes()));
  FUSEC_RETURN_IF_ERROR(stream.fill(x.address(), 0x3b, x.bytes()));
  GpuProduct product{GpuOperand::BF16, tokens, size.n, size.k, x.address(), 0, y.address()};
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> ms, timeByEvents(device, stream, false, [&](int i) {
                           product.weights = weights.address() + static_cast<uint64_t>(i % copies * weightBytes);
                           return products.multiply(stream, product);
                         }));
  const std::string name = products.name() + " bf16 " + std::to_string(size.n) + "x" + std::to_string(size.k) +
                           " T=" + std::to_string(tokens);
  report.measure({name, "GB/s", ratesOf(ms, double(weightBytes), 1e9), "weights' bytes, L2 cold"});
  report.measure({name, "TFLOP/s", ratesOf(ms, 2.0 * double(size.n * size.k * tokens), 1e12), "same repeats"});
  return {};
}

} // namespace

Status runBlas(const Settings &settings, Report &report) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> device, openGpuDevice(settings.device));
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuStream> stream, device->createStream());
  Result<std::unique_ptr<GpuProducts>> products = device->openProducts();
  if (!products) {
    report.note("not measured: " + products.status().message());
    return {};
  }
  Blas blas(*device, *stream, **products, report);
  Status status;
  for (const Size &size : sizes)
    for (int64_t tokens : tokenCounts)
      if (status.ok())
        status = blas.measure(size, tokens);
  if (!status.ok())
    report.note("not measured: " + status.message());
  return {};
}

} // namespace fusec::acceptance
