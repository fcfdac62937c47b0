//===- CublasLtTest.cpp - products by a library, through the CUDA code --------------===//
//
// The CUDA code on the fake driver and the fake cuBLASLt, which checks what it is
// told. What is told to the real library is checked as far as it answers without
// a GPU: it takes the descriptors.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/gpu/GpuProducts.h"
#include "runtime/device/gpu/OpenGpuDevice.h"
#include "test/unit/gpu/GpuTestDevices.h"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>
#include <dlfcn.h>
#include <random>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;
using testing::HasSubstr;

namespace {

int callFake(const char *name) {
  void *library = dlopen(FUSEC_FAKE_CUBLASLT, RTLD_NOW | RTLD_LOCAL);
  auto function = library ? reinterpret_cast<int (*)()>(dlsym(library, name)) : nullptr;
  return function ? function() : -1;
}

/// A whole number of magnitude below 256, which both 16-bit types hold.
uint16_t stored(GpuOperand operand, int value) {
  const auto number = static_cast<float>(value);
  if (operand == GpuOperand::BF16)
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(number) >> 16);
  return std::bit_cast<uint16_t>(static_cast<_Float16>(number));
}

class CublasLt : public testing::Test {
protected:
  Status open(const std::string &fault = "", const std::string &library = FUSEC_FAKE_CUBLASLT) {
    scope.emplace(
        std::vector<std::pair<std::string, std::string>>{{"FUSEC_CUBLASLT", library}, {"FUSEC_FAKE_CUBLASLT", fault}});
    FUSEC_ASSIGN_OR_RETURN(device, openGpuDevice("cuda"));
    FUSEC_ASSIGN_OR_RETURN(stream, device->createStream());
    FUSEC_ASSIGN_OR_RETURN(products, device->openProducts());
    return {};
  }

  template <typename T> GpuAddress send(const std::vector<T> &values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    buffers.push_back(*device->allocate(bytes, "test"));
    EXPECT_TRUE(stream->copyToDevice(buffers.back().address(), values.data(), bytes).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    return buffers.back().address();
  }

  std::vector<int> numbers(int64_t count) {
    std::vector<int> values(static_cast<size_t>(count));
    for (int &value : values)
      value = std::uniform_int_distribution<int>(-9, 9)(random);
    return values;
  }

  /// Whole numbers, whose sums are exact in any order.
  void expectProduct(GpuOperand operand, int64_t t, int64_t n, int64_t k, bool hasAddend, bool hasBias) {
    const std::vector<int> rows = numbers(t * k), weights = numbers(n * k), addend = numbers(t * n), bias = numbers(n);
    auto store = [&](const std::vector<int> &values) {
      std::vector<uint16_t> bits;
      for (int value : values)
        bits.push_back(stored(operand, value));
      return send(bits);
    };
    auto floats = [&](const std::vector<int> &values) {
      return send(std::vector<float>(values.begin(), values.end()));
    };
    GpuProduct product{operand, t, n, k, store(rows), store(weights), 0};
    buffers.push_back(*device->allocate(t * n * 4, "result"));
    product.result = buffers.back().address();
    product.addend = hasAddend ? floats(addend) : 0;
    product.bias = hasBias ? floats(bias) : 0;
    Status status = products->multiply(*stream, product);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<float> actual(static_cast<size_t>(t * n)), expected;
    ASSERT_TRUE(stream->copyToHost(actual.data(), product.result, t * n * 4).ok());
    ASSERT_TRUE(stream->synchronize().ok());
    for (int64_t i = 0; i < t; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int sum = hasAddend ? addend[i * n + j] : hasBias ? bias[j] : 0;
        for (int64_t c = 0; c < k; ++c)
          sum += rows[i * k + c] * weights[j * k + c];
        expected.push_back(static_cast<float>(sum));
      }
    EXPECT_EQ(actual, expected) << t << " x " << n << " x " << k;
  }

  std::string failure(const std::string &fault, const std::string &library = FUSEC_FAKE_CUBLASLT) {
    Status status = open(fault, library);
    if (!status.ok())
      return status.message();
    status = products->multiply(*stream, {GpuOperand::BF16, 5, 16, 8, send(std::vector<uint16_t>(40)),
                                          send(std::vector<uint16_t>(128)), send(std::vector<float>(80))});
    return status.ok() ? "" : status.message();
  }

  void TearDown() override {
    products.reset();
    buffers.clear();
    stream.reset();
    device.reset();
    EXPECT_EQ(callFake("fakeCublasLtLiveObjects"), 0);
    EXPECT_EQ(fakeLiveObjects(), 0);
    EXPECT_EQ(fakeContextDepth(), 0);
  }

  std::optional<FakeDriverScope> scope;
  std::unique_ptr<GpuDevice> device;
  std::unique_ptr<GpuStream> stream;
  std::unique_ptr<GpuProducts> products;
  std::vector<GpuBuffer> buffers;
  std::mt19937 random{7};
};

TEST_F(CublasLt, MultipliesWhatLiesInRows) {
  Status status = open();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(products->name(), "cuBLASLt 13.0");
  EXPECT_EQ(products->workspaceBytes(), 32 << 20);
  for (GpuOperand operand : {GpuOperand::BF16, GpuOperand::F16})
    for (int64_t tokens : {1, 3, 17, 64}) {
      expectProduct(operand, tokens, 24, 40, false, false);
      expectProduct(operand, tokens, 8, 136, true, false);
      expectProduct(operand, tokens, 40, 8, false, true);
    }
}

TEST_F(CublasLt, MoreExtentsThanAreKept) {
  ASSERT_TRUE(open().ok());
  for (int64_t tokens = 1; tokens <= 300; ++tokens)
    expectProduct(GpuOperand::BF16, tokens, 8, 8, false, false);
  expectProduct(GpuOperand::BF16, 1, 8, 8, false, false);
}

TEST_F(CublasLt, SaysThatItIsMissing) {
  EXPECT_THAT(failure("", "/nowhere/libcublasLt.so"), HasSubstr("no cuBLASLt: /nowhere/libcublasLt.so not found"));
}
TEST_F(CublasLt, SaysThatItIsOld) { EXPECT_EQ(failure("old"), "cuBLASLt 11.11 is too old: expected 12.0 or newer"); }
TEST_F(CublasLt, SaysThatItDoesNotStart) {
  EXPECT_EQ(failure("no-handle"), "starting cuBLASLt 13.0: CUBLAS_STATUS_NOT_INITIALIZED");
}
TEST_F(CublasLt, SaysThatItHasNoAlgorithm) {
  EXPECT_EQ(failure("no-algorithm"),
            "cuBLASLt: bf16 product [5, 8] x [16, 8]^T: choosing an algorithm: CUBLAS_STATUS_NOT_SUPPORTED");
}
TEST_F(CublasLt, SaysThatAProductFails) {
  EXPECT_EQ(failure("fails"), "cuBLASLt: bf16 product [5, 8] x [16, 8]^T: CUBLAS_STATUS_EXECUTION_FAILED");
}

TEST(Products, TheVirtualDeviceHasNone) {
  std::unique_ptr<GpuDevice> device = *openGpuDevice("virtual");
  Result<std::unique_ptr<GpuProducts>> products = device->openProducts();
  ASSERT_FALSE(products);
  EXPECT_EQ(products.status().message(), device->info().name + " has no library of matrix products");
}

TEST(Products, TheRealLibraryTakesTheDescriptors) {
  Result<std::shared_ptr<const cuda::CublasLtApi>> api = cuda::CublasLtApi::load();
  if (!api)
    GTEST_SKIP() << api.status().message();
  const cuda::CublasLtApi &blas = **api;
  cuda::BlasObject desc = nullptr, layout = nullptr, preference = nullptr;
  ASSERT_EQ(blas.cublasLtMatmulDescCreate(&desc, cuda::BlasCompute32F, cuda::BlasReal32F), 0);
  const int transposed = cuda::BlasTransposed;
  const uint32_t epilogue = cuda::BlasEpilogueBias;
  const void *bias = &epilogue;
  EXPECT_EQ(blas.cublasLtMatmulDescSetAttribute(desc, cuda::BlasDescTransposeA, &transposed, sizeof transposed), 0);
  EXPECT_EQ(blas.cublasLtMatmulDescSetAttribute(desc, cuda::BlasDescEpilogue, &epilogue, sizeof epilogue), 0);
  EXPECT_EQ(blas.cublasLtMatmulDescSetAttribute(desc, cuda::BlasDescBiasPointer, &bias, sizeof bias), 0);
  for (int type : {cuda::BlasReal16BF, cuda::BlasReal16F, cuda::BlasReal32F}) {
    ASSERT_EQ(blas.cublasLtMatrixLayoutCreate(&layout, type, 576, 17, 576), 0);
    EXPECT_EQ(blas.cublasLtMatrixLayoutDestroy(layout), 0);
  }
  const size_t most = 32 << 20;
  ASSERT_EQ(blas.cublasLtMatmulPreferenceCreate(&preference), 0);
  EXPECT_EQ(blas.cublasLtMatmulPreferenceSetAttribute(preference, cuda::BlasPrefMaxWorkspace, &most, sizeof most), 0);
  EXPECT_EQ(blas.cublasLtMatmulPreferenceDestroy(preference), 0);
  EXPECT_EQ(blas.cublasLtMatmulDescDestroy(desc), 0);
  EXPECT_STREQ(blas.cublasLtGetStatusName(13), "CUBLAS_STATUS_EXECUTION_FAILED");
}

} // namespace
