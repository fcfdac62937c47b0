//===- RoundedAttentionTest.cpp - attention on tensor cores: few cases, all forms -----===//
//
// A case per kind of thing that row tiles have to do right, within the bound of
// AttentionOracle.cpp; the covering set of DerivedAttentionTest and the cuts of
// AttentionChunksTest run on the same plans with FUSEC_FULL. That the kernels are
// the ones meant is read off their texts.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/KernelCompiler.h"
#include "test/unit/cuda/CudaTestSupport.h"
#include "test/unit/passes/AttentionGraph.h"
#include "test/unit/passes/Comparison.h"

namespace fusec::differential {
namespace {

using namespace reference;

AttentionForm formOf(int64_t kvHeads, int64_t group, int64_t head, int64_t valueHead) {
  AttentionForm form;
  form.kvHeads = kvHeads;
  form.group = group;
  form.head = head;
  form.valueHead = valueHead;
  return form;
}

class RoundedAttention : public ::testing::TestWithParam<std::string> {
protected:
  std::string level() const { return GetParam(); }
  std::string operands() const { return LevelChoice(level()).operands; }

  /// The texts of a plan's kernels that multiply on tensor cores.
  std::vector<codegen::CudaKernelText> tensorTexts(const CompiledGraph &graph) const {
    const codegen::CudaTarget &target = **codegen::cudaTargetByName(LevelChoice(level()).name);
    codegen::CudaEmitOptions options;
    options.symbols.assign(std::begin(symbolOrder), std::end(symbolOrder));
    options.hasWarpgroupProducts = target.has(codegen::CudaFeature::Wgmma);
    options.sharedBytesPerBlock = target.sharedPerBlock;
    std::vector<codegen::CudaKernelText> texts;
    graph.plan()->walk([&](tile::KernelOp kernel) {
      Result<codegen::CudaKernelText> text = codegen::emitCudaKernel(kernel, options);
      ASSERT_TRUE(text) << text.status().message();
      if (text->text.find("pipelined<") != std::string::npos)
        texts.push_back(*text);
    });
    return texts;
  }

  /// Every span of steps on both forms: split for few tokens, tiles of queries for many.
  void check(AttentionForm form, const std::vector<std::vector<TokenSpan>> &steps, AttentionData data, size_t kernels) {
    CompiledGraph graph(attentionText(form), level());
    ASSERT_EQ(graph.error(), "");
    form.operands = operands();
    EXPECT_EQ(tensorTexts(graph).size(), kernels) << describe(form);
    for (const std::vector<TokenSpan> &spans : steps) {
      SCOPED_TRACE(describe(form) + ", " + std::to_string(spans[0].added) + " tokens after " +
                   std::to_string(spans[0].cached));
      const Step step = attentionStep(form, spans, data, 211);
      const AttentionOracle oracle = attend(form, step);
      Result<StepResult> actual = graph.runHost(step, 1);
      ASSERT_TRUE(actual) << actual.status().message();
      Tensor expected = Tensor::fromValues(Element::F32, actual->output.shape(), oracle.value);
      EXPECT_TRUE(within(actual->output, expected, [&](int64_t i) { return oracle.bound[i]; }));
    }
  }
};

/// SmolLM2's shape: three query heads a key head; copies of the cache as it lies.
TEST_P(RoundedAttention, GroupsOfHeadsCopyTheCache) {
  AttentionForm form = formOf(2, 3, 64, 64);
  form.storage = operands();
  check(form, {{{64, 1}}, {{130, 2}, {5, 0}, {62, 4}}, {{0, 23}, {70, 18}}}, AttentionData::Ordinary, 2);
}

/// Caches in f32 are converted, values have other channels than keys, padded to sixteens.
TEST_P(RoundedAttention, ConvertsTheCacheAndPadsChannels) {
  AttentionForm form = formOf(1, 7, 80, 40);
  form.visibility = Visibility::Window;
  form.window = 4;
  form.sink = true;
  check(form, {{{65, 1}}, {{60, 17}}}, AttentionData::Ordinary, 2);
}

/// Caches in bytes become operands on the way to shared memory, 8 from 8 bytes, with and without padded channels.
TEST_P(RoundedAttention, DecodesCachesInBytes) {
  for (auto [head, valueHead] : {std::pair{64, 64}, {80, 40}}) {
    AttentionForm form = formOf(2, 3, head, valueHead);
    form.storage = "fp8_e4m3";
    check(form, {{{64, 1}}, {{130, 2}, {5, 0}, {62, 4}}, {{0, 23}, {70, 18}}}, AttentionData::Ordinary, 2);
  }
}

/// Rows that see nothing among others, every modification of the scores.
TEST_P(RoundedAttention, MasksBiasesCaps) {
  AttentionForm form = formOf(1, 4, 32, 32);
  form.storage = operands() == "f16" ? "bf16" : "f16";
  form.mask = MaskTensor::Integer;
  form.softcap = 30;
  form.alibi = form.bias = true;
  form.division = Division::BeforeValues;
  check(form, {{{63, 1}, {0, 7}}, {{-2, 20}}}, AttentionData::Hidden, 2);
}

/// Queries of wide heads wait in shared memory.
TEST_P(RoundedAttention, WideHeads) {
  AttentionForm form = formOf(1, 1, 256, 256);
  form.storage = operands();
  check(form, {{{64, 1}}, {{0, 17}}}, AttentionData::Large, 2);
}

/// As they are compiled for an artifact, no kernel keeps registers in memory, nor has a stack.
TEST_P(RoundedAttention, NothingSpills) {
  const codegen::CudaTarget &target = **codegen::cudaTargetByName(LevelChoice(level()).name);
  Result<codegen::KernelCompiler> compiler = codegen::KernelCompiler::create({.nvrtc = test::nvrtcSearch()});
  ASSERT_TRUE(compiler) << compiler.status().message();
  const bool isFull = std::getenv("FUSEC_FULL");
  for (int64_t head : isFull ? std::vector<int64_t>{32, 64, 80, 96, 128, 192, 256} : std::vector<int64_t>{128}) {
    AttentionForm form = formOf(2, 4, head, head);
    form.storage = operands();
    CompiledGraph graph(attentionText(form), level());
    ASSERT_EQ(graph.error(), "");
    for (const codegen::CudaKernelText &text : tensorTexts(graph)) {
      Result<codegen::CudaKernel> kernel = compiler->compileOne(target, {text});
      ASSERT_TRUE(kernel) << kernel.status().message();
      const codegen::KernelResources &used = kernel->resources;
      EXPECT_EQ(used.spillStores + used.spillLoads + used.stackBytes, 0) << text.entry << " of heads of " << head;
      std::printf("%s: heads of %d, %s: %d threads, %d registers, %d bytes shared, %d blocks\n", level().c_str(),
                  static_cast<int>(head), text.entry.c_str(), text.threads, used.registers,
                  static_cast<int>(text.sharedBytes), kernel->occupancy.blocks);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, RoundedAttention, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
