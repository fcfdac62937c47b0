//===- AttentionGraph.cpp - the text and the tensors of attention ---------------===//
#include "test/unit/passes/AttentionGraph.h"

#include "runtime/base/Float16.h"
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/E4m3.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>
#include <cstdio>
#include <limits>

namespace fusec::differential {

using namespace reference;

float AttentionForm::scale() const { return static_cast<float>(4.0 / std::sqrt(static_cast<double>(head))); }

namespace {

constexpr double minusInfinity = -std::numeric_limits<double>::infinity();

std::string number(int64_t n) { return std::to_string(n); }
std::string literal(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9e", v);
  return text;
}

/// Writes one variant over (lead..., h, g, j, x): leading dimensions, kv head, head of the group, key, summed.
class AttentionText {
public:
  explicit AttentionText(const AttentionForm &form)
      : form(form), paged(form.memory == KeyMemory::Paged), lead(form.memory == KeyMemory::Batched ? "b, t" : "t"),
        keys(paged ? "paged(C)" : "sym(N)") {
    tokens = paged ? "ragged(T)" : form.memory == KeyMemory::Batched ? "sym(S), sym(T)" : "sym(T)";
  }

  std::string write() {
    readInputs();
    const std::string scores = rowDims() + ", " + keys, out = rowDims() + ", " + number(form.valueHead);
    Node s = contract(q, k, "t, H, x", "j, K, x", scores, "sequential");
    Node t = modified(s, scores);
    Node m = g.reduce(t, rank(), "arith.maximumf", "0xFF800000", rowDims());
    if (form.sink)
      m = g.map({m, sink}, {rows("t, H"), rows(headOf())}, rowDims(), "    %r = arith.maximumf %a, %b : f32\n");
    Node e =
        g.map({t, m}, {scoreMap("t, H, j"), scoreMap("t, H")}, scores, form.spelling.negated ? negatedExp : shiftedExp);
    Node l = g.reduce(e, rank(), "arith.addf", "0.0", rowDims());
    if (form.sink)
      l = g.map({l, sink, m}, {rows("t, H"), rows(headOf()), rows("t, H")}, rowDims(), addSink);
    if (form.division == Division::BeforeValues)
      return finish(values(g.map({e, l}, {scoreMap("t, H, j"), scoreMap("t, H")}, scores, guardedQuotient), out));
    return finish(g.map({values(e, out), l}, {scoreMap("t, H, j"), scoreMap("t, H")}, out, guardedQuotient));
  }

private:
  static constexpr const char *shiftedExp = "    %i = arith.constant 0xFF800000 : f32\n"
                                            "    %z = arith.constant 0.0 : f32\n"
                                            "    %d = arith.subf %a, %b : f32\n"
                                            "    %e = math.exp %d : f32\n"
                                            "    %n = arith.cmpf oeq, %b, %i : f32\n"
                                            "    %r = arith.select %n, %z, %e : f32\n";
  static constexpr const char *negatedExp = "    %i = arith.constant 0xFF800000 : f32\n"
                                            "    %z = arith.constant 0.0 : f32\n"
                                            "    %d = arith.subf %b, %a : f32\n"
                                            "    %m = arith.negf %d : f32\n"
                                            "    %e = math.exp %m : f32\n"
                                            "    %n = arith.cmpf oeq, %b, %i : f32\n"
                                            "    %r = arith.select %n, %z, %e : f32\n";
  static constexpr const char *addSink = "    %d = arith.subf %b, %c : f32\n"
                                         "    %e = math.exp %d : f32\n"
                                         "    %r = arith.addf %a, %e : f32\n";
  static constexpr const char *guardedQuotient = "    %z = arith.constant 0.0 : f32\n"
                                                 "    %d = arith.divf %a, %b : f32\n"
                                                 "    %n = arith.cmpf oeq, %b, %z : f32\n"
                                                 "    %r = arith.select %n, %z, %d : f32\n";

  //===--------------------------------------------------------------------===//
  // Maps. In their results "t" stands for all leading dimensions, "H" for those of the heads, "K" for
  // the cached head.
  //===--------------------------------------------------------------------===//

  std::string heads() const { return form.spelling.flatHeads ? "h" : "h, g"; }
  std::string results(std::string text) const {
    for (auto [letter, meaning] : {std::pair<char, std::string>{'t', lead},
                                   {'H', heads()},
                                   {'K', form.spelling.flatHeads ? "h floordiv " + number(form.group) : "h"}})
      if (size_t at = text.find(letter); at != std::string::npos)
        text.replace(at, 1, meaning);
    return "(" + text + ")";
  }
  std::string domain(std::string dims) const { return results(dims) + " -> "; }
  std::string scoreMap(const std::string &r) const { return domain("t, H, j") + results(r); }
  std::string rows(const std::string &r) const { return domain("t, H") + results(r); }
  std::string headOf() const { return form.spelling.flatHeads ? "h" : "h * " + number(form.group) + " + g"; }

  int rank() const { return (form.memory == KeyMemory::Batched ? 4 : 3) + (form.spelling.flatHeads ? 0 : 1); }
  std::string headDims() const {
    return form.spelling.flatHeads ? number(form.heads()) : number(form.kvHeads) + ", " + number(form.group);
  }
  std::string rowDims() const { return tokens + ", " + headDims(); }

  /// Over (lead, H, j, x): a [own(..)] times cached values [cached(..)] to (lead, H, j).
  Node contract(const Node &a, const Node &cached, const std::string &own, const std::string &cachedAt,
                const std::string &dims, const std::string &order) {
    std::string from = results("t, H, j, x");
    if (form.spelling.reversed)
      from = std::string("(x, j, ") + (form.spelling.flatHeads ? "h, " : "g, h, ") +
             (form.memory == KeyMemory::Batched ? "t, b)" : "t)");
    from += " -> ";
    const std::string owner = form.memory == KeyMemory::Plain ? "" : paged ? "t, " : "b, ";
    const std::string left = from + results(own), right = from + "(" + owner + results(cachedAt).substr(1),
                      out = from + results("t, H, j");
    return form.spelling.swapped ? g.contract(cached, a, {right, left, out}, dims, order)
                                 : g.contract(a, cached, {left, right, out}, dims, order);
  }

  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  void readInputs() {
    Node flat = g.argument("q", tokens + ", " + number(form.heads()) + ", " + number(form.head));
    positions = g.argument("positions", tokens, "i32");
    if (paged)
      sequences = g.argument("sequences", tokens, "i32");
    if (paged && form.visibility == Visibility::All)
      limit = g.argument("limit", tokens, "i32");
    const std::string dims = rowDims() + ", " + number(form.head);
    q = form.spelling.flatHeads ? flat : g.view(flat, domain("t, H, x") + results("t, " + headOf() + ", x"), dims);
    if (form.spelling.scaledQuery)
      q = g.map({q}, {identityMap(rank())}, dims, scaling());
    k = history("k", form.head);
    v = history("v", form.valueHead);
    readModifiers();
  }

  Node history(const std::string &name, int64_t size) {
    const std::string shape = ", " + number(form.kvHeads) + ", " + number(size);
    const std::string owner = paged ? "sym(S), " : form.memory == KeyMemory::Batched ? "sym(S), " : "";
    Node cache = g.argument(name + ".0", owner + keys + shape, "f32", form.storage);
    if (!paged)
      return cache;
    if (form.appends)
      cache = g.append(g.argument(name, tokens + shape), cache, sequences, positions);
    return g.gather(cache, sequences, tokens + ", " + keys + shape);
  }

  void readModifiers() {
    const std::string heads = number(form.heads());
    if (form.alibi)
      slopes = g.argument("slopes", heads);
    if (form.bias)
      bias = g.argument("bias", tokens + ", " + keys);
    if (form.mask != MaskTensor::None)
      mask = g.argument("mask", tokens + ", " + keys, form.mask == MaskTensor::Integer ? "i32" : "f32");
    if (form.sink)
      sink = g.argument("sink", heads);
  }

  Node modified(Node t, const std::string &dims) {
    auto apply = [&](std::vector<Node> others, std::vector<std::string> maps, const std::string &body) {
      others.insert(others.begin(), t);
      maps.insert(maps.begin(), scoreMap("t, H, j"));
      t = g.map(others, maps, dims, body);
    };
    if (!form.spelling.scaledQuery)
      apply({}, {}, scaling());
    if (form.softcap != 0)
      apply({}, {},
            "    %c = arith.constant " + literal(form.softcap) + " : f32\n    %d = arith.divf %a, %c : f32\n" +
                "    %h = math.tanh %d : f32\n    %r = arith.mulf %h, %c : f32\n");
    if (form.alibi)
      apply({slopes, positions}, {scoreMap(headOf()), scoreMap("t")},
            keyIndex() + "    %d = arith.subi %j, %c : i32\n    %f = arith.sitofp %d : i32 to f32\n" +
                "    %m = arith.mulf %b, %f : f32\n    %r = arith.addf %a, %m : f32\n");
    if (form.bias)
      apply({bias}, {scoreMap("t, j")}, "    %r = arith.addf %a, %b : f32\n");
    if (form.mask == MaskTensor::Integer)
      apply({mask}, {scoreMap("t, j")},
            "    %z = arith.constant 0 : i32\n    %v = arith.cmpi ne, %b, %z : i32\n" + select());
    if (form.mask == MaskTensor::Float)
      apply({mask}, {scoreMap("t, j")},
            "    %z = arith.constant 0.5 : f32\n    %v = arith.cmpf ogt, %b, %z : f32\n" + select());
    if (const std::string visible = visibility(); !visible.empty()) {
      const Node &bound = form.visibility == Visibility::All ? limit : positions;
      if (form.spelling.maskAsBias)
        apply({visibilityBias(bound, visible)}, {scoreMap("t, j")}, "    %r = arith.addf %a, %b : f32\n");
      else
        apply({bound}, {scoreMap("t")}, keyIndex() + visible + select());
    }
    return t;
  }

  /// %v from the key's index %j and the token's bound %b; empty: all are visible.
  std::string visibility() const {
    if (form.visibility == Visibility::All)
      return paged ? "    %v = arith.cmpi slt, %j, %b : i32\n" : "";
    if (form.visibility == Visibility::Causal)
      return "    %v = arith.cmpi sle, %j, %b : i32\n";
    return "    %w = arith.constant " + number(form.window) + " : i32\n    %o = arith.subi %b, %w : i32\n" +
           "    %x = arith.cmpi sle, %j, %b : i32\n    %y = arith.cmpi sgt, %j, %o : i32\n" +
           "    %v = arith.andi %x, %y : i1\n";
  }

  /// 0 where a key is visible, else -inf, over (lead, j).
  Node visibilityBias(const Node &bound, std::string visible) {
    const int last = form.memory == KeyMemory::Batched ? 2 : 1;
    for (size_t at; (at = visible.find("%b")) != std::string::npos;)
      visible.replace(at, 2, "%a");
    return g.map({bound}, {domain("t, j") + results("t")}, tokens + ", " + keys,
                 "    %j = fuse.index " + number(last) + "\n" + visible +
                     "    %z = arith.constant 0.0 : f32\n    %i = arith.constant 0xFF800000 : f32\n" +
                     "    %r = arith.select %v, %z, %i : f32\n");
  }

  std::string scaling() const {
    return "    %c = arith.constant " + literal(form.scale()) + " : f32\n    %r = arith.mulf %a, %c : f32\n";
  }
  std::string keyIndex() const { return "    %j = fuse.index " + number(rank() - 1) + "\n"; }
  static std::string select() {
    return "    %i = arith.constant 0xFF800000 : f32\n    %r = arith.select %v, %a, %i : f32\n";
  }

  /// (lead, h, g, j = element of the value, x = key)
  Node values(const Node &weights, const std::string &dims) {
    return contract(weights, v, "t, H, x", "x, K, j", dims, "any");
  }

  std::string finish(const Node &y) {
    return g.finish(form.merged ? g.reshape(y, tokens + ", " + number(form.heads() * form.valueHead)) : y);
  }

  const AttentionForm &form;
  const bool paged;
  const std::string lead, keys;
  std::string tokens;
  GraphText g;
  Node q, k, v, positions, sequences, limit, slopes, bias, mask, sink;
};

} // namespace

std::string attentionText(const AttentionForm &form) { return AttentionText(form).write(); }

std::string describe(const AttentionForm &form) {
  constexpr const char *memories[] = {"plain", "batched", "paged"}, *sights[] = {"all", "causal", "window"};
  constexpr const char *masks[] = {"", " i32 mask", " f32 mask"};
  std::string text = memories[static_cast<int>(form.memory)];
  text += std::string(" ") + sights[static_cast<int>(form.visibility)];
  text += form.window > 0 ? " " + number(form.window) : "";
  text += masks[static_cast<int>(form.mask)];
  for (auto [has, name] : {std::pair{form.softcap != 0, " softcap"},
                           {form.alibi, " alibi"},
                           {form.bias, " bias"},
                           {form.sink, " sink"},
                           {form.division == Division::BeforeValues, " divided first"},
                           {form.merged, " merged"}})
    text += has ? name : "";
  return text + ", " + number(form.kvHeads) + "x" + number(form.group) + " heads of " + number(form.head) + "/" +
         number(form.valueHead) + (form.storage.empty() ? "" : ", caches in " + form.storage) +
         (form.operands.empty() ? "" : ", operands in " + form.operands);
}

static float roundedTo(const std::string &type, float value) {
  if (type == "f16")
    return halfToFloat(floatToHalf(value));
  if (type == "bf16")
    return bfloatToFloat(floatToBfloat(value));
  assert(type == "fp8_e4m3");
  return e4m3ToFloat(floatToE4m3(value));
}

void roundInPlace(Tensor &tensor, const std::string &type) {
  if (type.empty())
    return;
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.store(i, roundedTo(type, static_cast<float>(tensor.load(i))));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

class StepWriter {
public:
  StepWriter(const AttentionForm &form, llvm::ArrayRef<TokenSpan> spans, AttentionData data, uint32_t seed)
      : form(form), spans(spans), data(data), seed(seed) {}

  Step write() {
    layOut();
    writeTokens();
    const int64_t S = static_cast<int64_t>(spans.size());
    for (auto [name, size, offset] : {std::tuple{"k", form.head, 1u}, {"v", form.valueHead, 2u}}) {
      Shape cache = {context, form.kvHeads, size};
      if (form.memory != KeyMemory::Plain)
        cache.insert(cache.begin(), S);
      (form.memory == KeyMemory::Paged ? step.caches : step.inputs)[std::string(name) + ".0"] =
          randomTensor(cache, seed + offset);
      if (form.appends)
        step.inputs[name] = randomTensor({tokens, form.kvHeads, size}, seed + offset + 16);
    }
    for (auto &cache : step.caches)
      roundInPlace(cache.second, form.storage);
    Shape q(lead);
    q.append({form.heads(), form.head});
    step.inputs["q"] = randomTensor(q, seed);
    writeModifiers();
    shapeData();
    return std::move(step);
  }

private:
  /// The leading dimensions, and the symbols.
  void layOut() {
    int64_t longest = 0;
    for (const TokenSpan &span : spans) {
      step.lengths.push_back(std::max<int64_t>(span.cached + span.added, 0));
      longest = std::max(longest, step.lengths.back());
      tokens += span.added;
    }
    const bool paged = form.memory == KeyMemory::Paged, batched = form.memory == KeyMemory::Batched;
    context = paged ? std::max<int64_t>((longest + pageTokens - 1) / pageTokens, 1) * pageTokens : longest;
    lead = batched ? Shape{static_cast<int64_t>(spans.size()), spans.empty() ? 0 : spans.front().added} : Shape{tokens};
    step.symbols["T"] = lead.back();
    step.symbols["S"] = static_cast<int64_t>(spans.size());
    step.symbols[paged ? "C" : "N"] = context;
    if (paged)
      step.stale = std::nan("");
  }

  void writeTokens() {
    std::vector<double> positions, sequences, limits;
    for (auto [s, span] : llvm::enumerate(spans))
      for (int64_t i = 0; i < span.added; ++i) {
        positions.push_back(static_cast<double>(span.cached + i));
        sequences.push_back(static_cast<double>(s));
        limits.push_back(static_cast<double>(step.lengths[s]));
      }
    step.inputs["positions"] = Tensor::fromValues(Element::I32, lead, positions);
    step.inputs["sequences"] = Tensor::fromValues(Element::I32, lead, sequences);
    step.inputs["limit"] = Tensor::fromValues(Element::I32, lead, limits);
  }

  void writeModifiers() {
    Tensor slopes = Tensor::filled(Element::F32, {form.heads()}, 0.0);
    for (int64_t h = 0; h < form.heads(); ++h)
      slopes.set({h}, static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) / form.heads())));
    step.inputs["slopes"] = slopes;
    step.inputs["sink"] = randomTensor({form.heads()}, seed + 4);
    Shape pairs(lead);
    pairs.push_back(context);
    step.inputs["bias"] = randomTensor(pairs, seed + 5);
    Tensor mask = randomTensor(pairs, seed + 6);
    for (int64_t i = 0; i < mask.size(); ++i)
      mask.store(i, mask.load(i) > -0.5 ? 1.0 : 0.0);
    step.inputs["mask"] = mask.withElement(form.mask == MaskTensor::Integer ? Element::I32 : Element::F32);
  }

  void shapeData() {
    if (data == AttentionData::Large)
      scaleInPlace(step.inputs["q"], 5000.0);
    if (data == AttentionData::Equal)
      for (llvm::StringMap<Tensor> *map : {&step.inputs, &step.caches})
        for (const char *name : {"k", "k.0"})
          if (auto it = map->find(name); it != map->end())
            repeatFirst(it->second);
    if (data == AttentionData::Hidden)
      hide();
  }

  static void scaleInPlace(Tensor &tensor, double factor) {
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.store(i, static_cast<float>(tensor.load(i) * factor));
  }
  /// Every row of the last dimension is 1/4, 1/8, 1/4, ...
  static void repeatFirst(Tensor &tensor) {
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.store(i, i % 2 ? 0.125 : 0.25);
  }
  void hide() {
    for (int64_t row = 0; row < tokens; ++row)
      for (int64_t j = 0; j < context; ++j)
        if (row % 3 == 1 || j % 5 == 2) {
          step.inputs["bias"].store(row * context + j, minusInfinity);
          step.inputs["mask"].store(row * context + j, 0.0);
        }
  }

  const AttentionForm &form;
  const llvm::ArrayRef<TokenSpan> spans;
  const AttentionData data;
  const uint32_t seed;
  Step step;
  Shape lead;
  int64_t tokens = 0, context = 0;
};

} // namespace

Step attentionStep(const AttentionForm &form, llvm::ArrayRef<TokenSpan> spans, AttentionData data, uint32_t seed) {
  return StepWriter(form, spans, data, seed).write();
}

} // namespace fusec::differential
