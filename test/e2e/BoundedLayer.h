//===- BoundedLayer.h - a decoder layer, and how far rounding may move it ---------===//
//
// A model of one llama layer evaluated in double, each value with the deviation
// of runs that round. Contributions are first order, taken as independent, and
// so added in squares:
//
//   product    sum of w x over K: an operand's deviation e adds |w| e; rounding both
//              operands, uniform within half a unit in the last place, adds
//              u |w x| / sqrt(3) each per term, u the operand type's unit roundoff; the
//              f32 sum adds sqrt(K) v sum |w x|, v its unit roundoff, twice that
//              where a tensor core may truncate (no partial sum exceeds sum |w x|)
//   norm       y = x r g: |g r| e of its element, and |y| |x . e| / sum x^2 from the
//              mean, which is the derivative of r
//   rotation   |cos| e1 and |sin| e2, and the angle's error times the pair's length
//   softmax    dp_i = p_i (ds_i - sum_j p_j ds_j)
//   silu(g) u  |silu'(g) u| e_g and |silu(g)| e_u
//
// and a few v of the value for the elementary functions. A result is the sum of
// thousands of such terms: normally distributed. The worst case, magnitudes added
// instead of squares, grows by sum |w|, about 20, with every product, and exceeds the
// logits themselves a thousandfold: it would exclude nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/Model.h"
#include "runtime/engine/SamplingParams.h"

#include <vector>

namespace fusec::e2e {

struct Arithmetic {
  double operand = 0; ///< Unit roundoff of products' operands, 2^-8 for bf16; 0: they stay f32.
  double sum = 0;     ///< What adding a product errs at most, relative: 2^-24, 2^-23 if it truncates.
};

struct Bounded {
  double value = 0, deviation = 0;
};

/// Logits of every position of `ids`, [position][token].
std::vector<std::vector<Bounded>> boundedLogits(const models::Model &model, const std::vector<runtime::TokenId> &ids,
                                                const Arithmetic &arithmetic);

} // namespace fusec::e2e
