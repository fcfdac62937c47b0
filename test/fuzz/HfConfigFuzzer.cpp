//===- HfConfigFuzzer.cpp - config.json bytes to a ModelConfig -------------===//
//
// The same bytes serve as config.json and generation_config.json.
//
//===----------------------------------------------------------------------===//

#include "models/import/ModelConfig.h"
#include "runtime/base/Json.h"

#include <cstddef>
#include <cstdint>

using namespace fusec;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<nlohmann::json> document = parseJson({reinterpret_cast<const char *>(data), size}, "config.json");
  if (!document)
    return 0;
  if (Result<models::ModelConfig> config = models::configFromHf(*document, *document))
    (void)models::rotaryFrequencies(config->rope);
  return 0;
}
