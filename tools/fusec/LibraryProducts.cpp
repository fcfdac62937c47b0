//===- LibraryProducts.cpp -------------------------------------------------===//
#include "tools/fusec/LibraryProducts.h"

#include "runtime/base/Json.h"

namespace fusec {

namespace {

/// Shares of a product's data sheet that large products reach. Nobody has measured them with fusec: the library's is
/// what cuBLAS commonly reaches, the kernels' supposes that their tiles of 64 tokens leave half of that.
constexpr double libraryShare = 0.7, kernelShare = 0.35, memoryShare = 0.8, launchSeconds = 3e-6;

Result<ProductRates> readRates(const std::string &file) {
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json object, readJsonFile(file));
  ProductRates rates;
  const std::pair<const char *, double &> members[] = {{"kernel_flops", rates.kernelFlops},
                                                       {"library_flops", rates.libraryFlops},
                                                       {"bytes_per_second", rates.bytesPerSecond},
                                                       {"launch_seconds", rates.launchSeconds}};
  for (const auto &[key, value] : members) {
    FUSEC_ASSIGN_OR_RETURN(value, jsonFloat(object, key));
    if (!(value > 0 && value < 1e30))
      return corruptData("key '" + std::string(key) + "': expected a positive number, found " + std::to_string(value));
  }
  return rates;
}

} // namespace

Result<ProductRates> productRates(const std::string &choice, const codegen::CudaTarget &target) {
  if (choice == "off" || choice.empty())
    return ProductRates();
  if (choice == "auto")
    return ProductRates{kernelShare * target.bf16PerSecond, libraryShare * target.bf16PerSecond,
                        memoryShare * target.bytesPerSecond, launchSeconds};
  Result<ProductRates> rates = readRates(choice);
  if (!rates)
    return rates.status().withContext("--library-products '" + choice + "' (expected off, auto or a file of rates)");
  return rates;
}

} // namespace fusec
