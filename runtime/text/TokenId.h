//===- TokenId.h - the id of a token in a vocabulary -----------------------===//
#pragma once

#include <cstdint>

namespace fusec::text {

/// Index into the vocabulary; valid ids are in [0, Tokenizer::size()).
using TokenId = int32_t;

} // namespace fusec::text
