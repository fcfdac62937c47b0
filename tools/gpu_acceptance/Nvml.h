//===- Nvml.h - clocks and power limit of a GPU, where NVML is there -------------===//
#pragma once

#include <nlohmann/json.hpp>

namespace fusec::acceptance {

/// Facts of GPU `index` by the driver's management library; empty without it. NVML counts all GPUs of
/// the machine, whatever CUDA_VISIBLE_DEVICES says: "nvml_name" tells which one this is.
nlohmann::ordered_json readNvml(unsigned index);

} // namespace fusec::acceptance
