//===- AttentionGraph.h - attention from primitives, and what it must give ------===//
//
// One description of a variant gives three things that share no code with the
// compiler: the graph's text, a step's tensors, and the result in double with a
// bound on the error of any f32 evaluation.
//
//   AttentionForm form;                    // 2 kv heads, causal, paged
//   form.softcap = 30;
//   CompiledGraph graph(attentionText(form), "avx512");
//   Step step = attentionStep(form, {{70, 3}}, AttentionData::Ordinary, /*seed=*/1);
//   AttentionOracle oracle = attend(form, step);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/passes/CompiledGraph.h"

namespace fusec::differential {

/// Where keys and values lie: one sequence, one per batch entry (first dimension), or in pages.
enum class KeyMemory { Plain, Batched, Paged };
/// Which keys a token may see: every one, those up to its position, or the last `window` of them.
enum class Visibility { All, Causal, Window };
/// A boolean mask tensor as the graph gets it.
enum class MaskTensor { None, Integer, Float };
/// Whether the values' sum is divided, or each probability.
enum class Division { AfterValues, BeforeValues };

/// Other ways to write the same function.
struct AttentionSpelling {
  bool negated = false;     ///< exp(-(m - t)) for exp(t - m).
  bool scaledQuery = false; ///< The scale is on q, not on the scores.
  bool maskAsBias = false;  ///< t + (visible ? 0 : -inf) for visible ? t : -inf.
  bool flatHeads = false;   ///< One dimension of heads, whose cached head is h floordiv group.
  bool swapped = false;     ///< Keys and values are the left operands.
  bool reversed = false;    ///< Iteration spaces count their dimensions backwards.
};

struct AttentionForm {
  KeyMemory memory = KeyMemory::Paged;
  Visibility visibility = Visibility::Causal;
  MaskTensor mask = MaskTensor::None;
  Division division = Division::AfterValues;
  int64_t kvHeads = 2, group = 1, head = 64, valueHead = 64;
  int64_t window = 0;
  double softcap = 0;   ///< cap * tanh(t / cap); 0: none.
  bool alibi = false;   ///< + slope[head] * (key's position - token's).
  bool bias = false;    ///< + bias[token, key].
  bool sink = false;    ///< One more logit per head that has no value.
  bool appends = false; ///< Paged: this step's keys and values come as "k" and "v".
  bool merged = false;  ///< The result's heads are one dimension.
  std::string storage;  ///< Paged: what the caches are stored in; empty: f32.
  std::string operands; ///< What the oracle rounds the products' operands to; empty: it does not.
  AttentionSpelling spelling;

  int64_t heads() const { return kvHeads * group; }
  /// The product of the scores; keeps the spread of random logits near 1.
  float scale() const;
};

/// The inputs are named q, k.0, v.0 (k, v), positions, sequences, limit, slopes, bias, mask, sink.
std::string attentionText(const AttentionForm &form);
/// "softcap alibi ... 2x4 heads of 64/32"
std::string describe(const AttentionForm &form);

/// Tokens of one sequence in a step: `added` after `cached` earlier ones. A negative number of cached
/// ones puts the first tokens before the sequence's start, where they see nothing.
struct TokenSpan {
  int64_t cached, added;
};

enum class AttentionData {
  Ordinary, ///< Logits of spread one.
  Large,    ///< Logits of +-1e4.
  Equal,    ///< All keys alike: a plain mean of the values.
  Hidden,   ///< Every third token sees nothing (bias of -inf, mask of 0), and every fifth key is hidden.
};

/// Batched: every span adds as many tokens. Paged: what no sequence has written is NaN in the
/// machine's pages.
Step attentionStep(const AttentionForm &form, llvm::ArrayRef<TokenSpan> spans, AttentionData data, uint32_t seed);

/// Every element rounded to nearest even to "f16", "bf16" or "fp8_e4m3"; "" leaves it.
void roundInPlace(reference::Tensor &tensor, const std::string &type);

/// Per element of the output, row-major: the exact value of rounded operands, and by how much f32 may miss it.
struct AttentionOracle {
  std::vector<double> value, bound;
};
AttentionOracle attend(const AttentionForm &form, const Step &step);

} // namespace fusec::differential
