//===- PagedAttentionCase.cpp - attention with random operands ------------------===//
#include "test/unit/cuda/mma/PagedAttentionCase.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace fusec::test {

static constexpr int64_t heads = 2;
static constexpr int64_t lengths[] = {1, 64, 65, 200}, queries[] = {1, 7, 2, 40};

static std::vector<std::string> definitions(const AttentionType &c) {
  auto set = [](const char *key, int64_t value) { return "-D" + std::string(key) + "=" + std::to_string(value); };
  std::vector<std::string> all = {std::string("-DOPERAND=") + name(c.operand),
                                  "-DCACHE=" + c.cache,
                                  set("HEAD", c.head),
                                  set("PAGE", c.page),
                                  set("GROUP", c.group),
                                  set("WARPS", c.warps)};
  if (c.wgmma)
    all.push_back("-DWGMMA");
  if (c.specialists)
    all.push_back("-DSPECIALISTS");
  return all;
}

PagedAttentionCase::PagedAttentionCase(const codegen::Nvrtc &nvrtc, const std::string &target,
                                       const AttentionType &type, std::span<const Mutation> mutations)
    : c(type), program(nvrtc, target, "attention.cu", definitions(type), mutations) {
  std::mt19937 rng(11);
  blocks = 0;
  for (int64_t length : lengths)
    blocks = std::max(blocks, (length + c.page - 1) / c.page);
  std::vector<int32_t> order(std::size(lengths) * blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), rng);
  table.assign(order.begin(), order.end());
  first.push_back(0);
  for (int64_t count : queries)
    first.push_back(first.back() + static_cast<int32_t>(count));
  q = randomFloats(first.back() * heads * c.group * c.head, 21);
  for (float &v : q)
    v *= 4;
  const int64_t elements = static_cast<int64_t>(table.size()) * heads * c.head * c.page;
  keys = stored(randomFloats(elements, 22));
  values = stored(randomFloats(elements, 23));
}

Status PagedAttentionCase::tryRun(std::vector<float> &result) {
  const int64_t rowTiles = (40 * c.group + 16 * c.warps - 1) / (16 * c.warps);
  const std::vector<int64_t> sizes = {std::ssize(lengths), blocks, heads, rowTiles};
  const std::vector<int32_t> lengths32(std::begin(lengths), std::end(lengths));
  const int64_t stage = 2 * c.head * c.page * 2, count = std::ssize(q);
  const uint64_t out = program.outputs(count);
  const MmaLaunch pipelined = {
      .grid = sizes[0] * heads * rowTiles + 1, .threads = int(32 * c.warps), .shared = 2 * stage};
  const MmaLaunch bySpecialists = {
      .grid = pipelined.grid, .threads = pipelined.threads + 128, .shared = 3 * stage + 48};
  FUSEC_RETURN_IF_ERROR(program.launch(c.specialists ? "attentionBySpecialists" : "attention",
                                       c.specialists ? bySpecialists : pipelined,
                                       {program.put(q), putCache(keys), putCache(values), program.put(table),
                                        program.put(first), program.put(lengths32), out, program.put(sizes)}));
  result = program.floats(out, count);
  return {};
}

std::vector<float> PagedAttentionCase::run() {
  std::vector<float> result(q.size());
  Status status = tryRun(result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

void PagedAttentionCase::expectNear(const std::vector<float> &found) const {
  for (size_t s = 0; s < std::size(lengths); ++s)
    for (int64_t t = first[s]; t < first[s + 1]; ++t)
      for (int64_t h = 0; h < heads * c.group; ++h)
        expectRow(found, s, t, h);
}

std::vector<float> PagedAttentionCase::stored(std::vector<float> v) const {
  if (c.cache != "float")
    for (float &x : v)
      x = operandValue(c.cache == "Half" ? OperandType::Half : OperandType::Bfloat, x);
  return v;
}

uint64_t PagedAttentionCase::putCache(const std::vector<float> &v) {
  if (c.cache == "float")
    return program.put(v);
  std::vector<uint16_t> bits(v.size());
  for (size_t i = 0; i < v.size(); ++i)
    bits[i] = operandBits(c.cache == "Half" ? OperandType::Half : OperandType::Bfloat, v[i]);
  return program.put(bits);
}

int64_t PagedAttentionCase::pageAt(size_t s, int64_t j, int64_t head) const {
  return (table[s * blocks + j / c.page] * heads + head) * c.head * c.page;
}

/// 1 / sqrt(64) is exact; elsewhere the last bit may differ and with it, rarely, the rounding of q.
static double rounding(float scale, double u) {
  int exponent;
  return std::frexp(scale, &exponent) == 0.5f ? 0 : 2 * u;
}

/// With u the unit roundoff of an operand type: queries and keys are rounded first, so scores are exact but for f32
/// sums. Each weight p / l is off by a relative e = u (its rounding) + 2 d (its score's error d, in p and in l), and
/// |v| <= 1, so the row is off by at most e plus f32 rounding of what is summed.
void PagedAttentionCase::expectRow(const std::vector<float> &found, size_t s, int64_t t, int64_t h) const {
  const int64_t position = lengths[s] - (first[s + 1] - t), at = (t * heads * c.group + h) * c.head;
  const float scale = 1.0f / std::sqrt(static_cast<float>(c.head));
  const double u = c.operand == OperandType::Half ? 0x1p-11 : 0x1p-8;
  std::vector<double> score(position + 1), sum(c.head);
  double most = -INFINITY, error = 0, weight = 0;
  for (int64_t j = 0; j <= position; ++j) {
    double magnitude = 0;
    for (int64_t d = 0; d < c.head; ++d) {
      const double a = operandValue(c.operand, q[at + d] * scale);
      const double p = a * operandValue(c.operand, keys[pageAt(s, j, h / c.group) + d * c.page + j % c.page]);
      score[j] += p;
      magnitude += std::fabs(p);
    }
    // The head's terms in f32, and one more rounding of q where the device's 1 / sqrt(head) is not the host's.
    error = std::max(error, magnitude * (static_cast<double>(c.head) * 0x1p-23 + rounding(scale, u)));
    most = std::max(most, score[j]);
  }
  for (int64_t j = 0; j <= position; ++j) {
    const double p = std::exp(score[j] - most);
    weight += p;
    for (int64_t d = 0; d < c.head; ++d)
      sum[d] += p * operandValue(c.operand, values[pageAt(s, j, h / c.group) + j % c.page * c.head + d]);
  }
  const double bound = u + 2 * error + static_cast<double>(position + 70) * 0x1p-22;
  for (int64_t d = 0; d < c.head; ++d)
    ASSERT_NEAR(found[at + d], sum[d] / weight, bound) << "sequence " << s << " token " << t << " head " << h;
}

} // namespace fusec::test
