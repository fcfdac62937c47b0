//===- RandomGraph.cpp - graphs drawn from a seed --------------------------------===//
#include "test/unit/passes/RandomGraph.h"

#include <cmath>
#include <cstdio>

namespace fusec::differential {

namespace {

constexpr int64_t widths[] = {1, 2, 4, 7, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 96, 130, 256};

/// Storage types and the largest magnitude of the random weights of each.
struct StorageRow {
  const char *name;
  int64_t block;
  double largest;
};
constexpr StorageRow storages[] = {{"f32", 1, 1},      {"f16", 1, 1},      {"bf16", 1, 1},     {"q8_0", 32, 32},
                                   {"q4_0", 32, 2},    {"q4_1", 32, 4},    {"q5_0", 32, 4},    {"q5_1", 32, 8},
                                   {"q4_k", 256, 236}, {"q5_k", 256, 472}, {"q6_k", 256, 1016}};

/// Scalar bodies over %a and %b whose results stay near their operands' size.
constexpr const char *bodies[] = {
    "    %r = arith.addf %a, %b : f32\n",
    "    %r = arith.subf %a, %b : f32\n",
    "    %r = arith.maximumf %a, %b : f32\n",
    "    %m = math.absf %a : f32\n    %s = math.sqrt %m : f32\n    %r = arith.subf %s, %b : f32\n",
    "    %one = arith.constant 1.0 : f32\n    %m = arith.mulf %b, %b : f32\n    %d = arith.addf "
    "%one, %m : f32\n"
    "    %r = arith.divf %a, %d : f32\n",
    "    %c = arith.cmpf olt, %a, %b : f32\n    %n = arith.negf %b : f32\n    %r = arith.select "
    "%c, %n, %a : f32\n",
    "    %h = arith.constant 0.75 : f32\n    %m = arith.mulf %a, %h : f32\n    %r = arith.addf %m, "
    "%b : f32\n",
    "    %i = fuse.index 0\n    %f = arith.sitofp %i : i32 to f32\n    %h = arith.constant 0.125 : "
    "f32\n"
    "    %m = arith.mulf %f, %h : f32\n    %s = arith.addf %a, %m : f32\n    %r = arith.minimumf "
    "%s, %b : f32\n",
};

std::string dimsOf(int64_t columns) { return columns == 0 ? "ragged(T)" : "ragged(T), " + std::to_string(columns); }

} // namespace

RandomGraph::RandomGraph(uint32_t seed)
    : random(seed), inputWidth(widths[random() % std::size(widths)]), mayUseExp(seed % 3 == 2) {}

std::string RandomGraph::text() {
  keep(graph.argument("x", dimsOf(inputWidth)), inputWidth);
  rows = graph.argument("rows", "ragged(T)", "i32");
  const uint32_t steps = 3 + draw(8);
  for (uint32_t i = 0; i < steps; ++i)
    addStep();
  // The result reads the last value and one more, whatever their shapes.
  const Value last = values.back(), other = pick();
  const int64_t columns = last.columns == 0 ? 3 : last.columns;
  Node y = graph.map({last.node, other.node}, {indexMap(last, columns), indexMap(other, columns)}, dimsOf(columns),
                     bodies[0]);
  return graph.finish(y);
}

void RandomGraph::addStep() {
  using Add = void (RandomGraph::*)();
  constexpr Add adds[] = {&RandomGraph::addMap,     &RandomGraph::addMap,           &RandomGraph::addMap,
                          &RandomGraph::addProduct, &RandomGraph::addProduct,       &RandomGraph::addGatedProducts,
                          &RandomGraph::addNorm,    &RandomGraph::addReduction,     &RandomGraph::addView,
                          &RandomGraph::addHeads,   &RandomGraph::addHeadReduction, &RandomGraph::addGather,
                          &RandomGraph::addSoftmax};
  (this->*adds[draw(std::size(adds))])();
}

const RandomGraph::Value &RandomGraph::pick() {
  const uint32_t n = static_cast<uint32_t>(values.size());
  return values[n - 1 - std::min(draw(n), draw(n))];
}

const RandomGraph::Value &RandomGraph::pickWide() {
  for (int tries = 0; tries < 8; ++tries)
    if (const Value &value = pick(); value.columns > 0)
      return value;
  return values.front();
}

/// From [T, columns] to the value's own shape: equal, cut, repeated or shifted.
std::string RandomGraph::indexMap(const Value &from, int64_t columns) {
  if (from.columns == 0)
    return "(t, c) -> (t)";
  const std::string n = std::to_string(from.columns);
  if (from.columns == columns)
    return draw(6) == 0 ? "(t, c) -> (t, -c + " + std::to_string(columns - 1) + ")" : "(t, c) -> (t, c)";
  if (from.columns > columns)
    return "(t, c) -> (t, c + " + std::to_string(draw(static_cast<uint32_t>(from.columns - columns + 1))) + ")";
  return draw(2) ? "(t, c) -> (t, c mod " + n + ")"
                 : "(t, c) -> (t, c floordiv " + std::to_string((columns + from.columns - 1) / from.columns) + ")";
}

void RandomGraph::addMap() {
  const Value a = pickWide(), b = pick();
  const int64_t columns = draw(4) ? a.columns : widths[draw(std::size(widths))];
  keep(graph.map({a.node, b.node}, {indexMap(a, columns), indexMap(b, columns)}, dimsOf(columns),
                 bodies[draw(std::size(bodies))]),
       columns);
}

Node RandomGraph::scaled(const Node &x, int64_t columns, double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9e", factor);
  return graph.map({x}, {identityMap(2)}, dimsOf(columns),
                   std::string("    %s = arith.constant ") + text + " : f32\n    %r = arith.mulf %a, %s : f32\n");
}

Node RandomGraph::product(const Value &x, int64_t columns, const std::string &storage) {
  const std::string shape = std::to_string(columns) + ", " + std::to_string(x.columns);
  return graph.linear(x.node, graph.weight("w" + std::to_string(weights++), shape, storage), dimsOf(columns));
}

void RandomGraph::addProduct() {
  const Value x = pickWide();
  const StorageRow *row = &storages[draw(std::size(storages))];
  while (x.columns % row->block != 0)
    row = &storages[draw(std::size(storages))];
  // Several products of one input become one; each may be read by others.
  for (uint32_t i = 0, n = 1 + (draw(3) == 0) + (draw(5) == 0); i < n; ++i) {
    const int64_t columns = widths[draw(std::size(widths))];
    const double size = row->largest * std::sqrt(static_cast<double>(x.columns));
    Node y = product(x, columns, row->name);
    keep(draw(4) && row->largest < 3 ? y : scaled(y, columns, std::exp2(-std::ceil(std::log2(size)))), columns);
  }
}

void RandomGraph::addGatedProducts() {
  const Value x = pickWide();
  const char *storage = x.columns % 32 == 0 ? "q4_0" : "f16";
  const int64_t columns = widths[draw(std::size(widths))];
  Node gate = product(x, columns, storage), up = product(x, columns, storage);
  if (mayUseExp && draw(2)) {
    exps = true;
    return keep(scaled(graph.swiglu(gate, up), columns, 1.0 / 64), columns);
  }
  keep(graph.map({gate, up}, {identityMap(2), identityMap(2)}, dimsOf(columns),
                 "    %one = arith.constant 1.0 : f32\n    %m = math.absf %b : f32\n    %d = "
                 "arith.addf %one, %m : f32\n"
                 "    %g = arith.divf %b, %d : f32\n    %h = arith.constant 0.125 : f32\n    %u = "
                 "arith.mulf %a, %h : f32\n"
                 "    %r = arith.mulf %g, %u : f32\n"),
       columns);
}

void RandomGraph::addNorm() {
  const Value x = pickWide();
  sums = true;
  Node w = graph.weight("w" + std::to_string(weights++), std::to_string(x.columns), "f32");
  keep(graph.rmsNorm(x.node, w, "9.765625e-4"), x.columns);
}

void RandomGraph::addSoftmax() {
  if (!mayUseExp)
    return addMap();
  const Value x = pickWide();
  exps = sums = true;
  keep(graph.softmax(x.node), x.columns);
}

void RandomGraph::addReduction() {
  const Value x = pickWide();
  if (draw(2))
    return keep(graph.reduce(x.node, 2, "arith.maximumf", "0xFF800000", "ragged(T)"), 0);
  sums = true;
  keep(graph.reduce(scaled(x.node, x.columns, 1.0 / 32), 2, "arith.addf", "0.0", "ragged(T)"), 0);
}

void RandomGraph::addView() {
  const Value x = pickWide();
  const int64_t columns = widths[draw(std::size(widths))];
  keep(graph.view(x.node, indexMap(x, columns), dimsOf(columns)), columns);
}

/// Splits into heads, permutes them and the columns, computes there and joins again.
void RandomGraph::addHeads() {
  const Value x = pickWide();
  const int64_t heads = 1 + draw(4);
  if (x.columns % heads != 0)
    return addMap();
  const int64_t size = x.columns / heads;
  const std::string s = std::to_string(size), h = std::to_string(heads);
  Node split = draw(2) ? graph.view(x.node, "(t, h, d) -> (t, h * " + s + " + d)", "ragged(T), " + h + ", " + s)
                       : graph.view(x.node, "(t, h, d) -> (t, d * " + h + " + h)", "ragged(T), " + h + ", " + s);
  Node y = graph.map({split, split}, {identityMap(3), "(t, h, d) -> (t, " + std::to_string(heads - 1) + " - h, d)"},
                     "ragged(T), " + h + ", " + s, bodies[draw(6)]);
  if (draw(3) == 0) // memory of the result's own shape, which its one reader sees flat
    return keep(graph.reshape(y, dimsOf(x.columns)), x.columns);
  keep(graph.view(y, "(t, c) -> (t, c floordiv " + s + ", c mod " + s + ")", dimsOf(x.columns)), x.columns);
}

/// Every head against its own largest element, or against that of another head.
void RandomGraph::addHeadReduction() {
  const Value x = pickWide();
  const int64_t heads = 1 + draw(4);
  if (x.columns % heads != 0)
    return addReduction();
  const std::string s = std::to_string(x.columns / heads), h = std::to_string(heads), last = std::to_string(heads - 1);
  const std::string dims = "ragged(T), " + h + ", " + s;
  Node split = graph.view(x.node, "(t, h, d) -> (t, h * " + s + " + d)", dims);
  Node most = graph.reduce(split, 3, "arith.maximumf", "0xFF800000", "ragged(T), " + h);
  const std::string read = draw(3) == 0 ? "(t, h, d) -> (t, " + last + " - h)" : "(t, h, d) -> (t, h)";
  Node y = graph.map({split, most}, {identityMap(3), read}, dims, bodies[draw(7)]);
  keep(graph.view(y, "(t, c) -> (t, c floordiv " + s + ", c mod " + s + ")", dimsOf(x.columns)), x.columns);
  if (draw(2))
    keep(graph.view(most, "(t, c) -> (t, c)", "ragged(T), " + h), heads);
}

void RandomGraph::addGather() {
  const Value x = pickWide();
  keep(graph.gather(x.node, rows, dimsOf(x.columns)), x.columns);
}

} // namespace fusec::differential
