//===- StructSizes.h - how large the structs were when they were added -----------===//
//
// Who appends a field keeps the number and changes the assertion to
// `offsetof(S, new_field) == firstSize<S>`: so no field moves, and none hides in padding.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/capi/SizedStruct.h"
#include "runtime/capi/fusec.h"

#include <cstddef>

namespace fusec::capi {

template <> inline constexpr size_t firstSize<fusec_engine_options> = 112;
template <> inline constexpr size_t firstSize<fusec_model_info> = 144;
template <> inline constexpr size_t firstSize<fusec_stats> = 240;
template <> inline constexpr size_t firstSize<fusec_event> = 56;
template <> inline constexpr size_t firstSize<fusec_request_options> = 192;
template <> inline constexpr size_t firstSize<fusec_result> = 120;
template <> inline constexpr size_t firstSize<fusec_choice> = 64;

static_assert(sizeof(fusec_engine_options) == firstSize<fusec_engine_options>);
static_assert(sizeof(fusec_model_info) == firstSize<fusec_model_info>);
static_assert(sizeof(fusec_stats) == firstSize<fusec_stats>);
static_assert(sizeof(fusec_event) == firstSize<fusec_event>);
static_assert(sizeof(fusec_request_options) == firstSize<fusec_request_options>);
static_assert(sizeof(fusec_result) == firstSize<fusec_result>);
static_assert(sizeof(fusec_choice) == firstSize<fusec_choice>);

} // namespace fusec::capi
