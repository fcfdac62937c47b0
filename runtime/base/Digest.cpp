//===- Digest.cpp - identity of bytes by their content ---------------------===//
#include "runtime/base/Digest.h"

#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fusec {

std::string digestText(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits;
}

} // namespace fusec
