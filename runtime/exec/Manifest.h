//===- Manifest.h - the plan of an artifact, as manifest.json states it -------===//
//
// What the compiler decided and the runtime obeys: buffers, launches, and per
// target (a CPU level or a CUDA architecture) the kernels with their variants and grids. A Manifest that was
// parsed is consistent: every index is in range, every name resolves, every
// size is sane and every weight lies inside the weights file.
//
// Values; immutable after parsing, safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/ModelInfo.h"
#include "runtime/schema/KvLayout.h"
#include "runtime/schema/TargetKind.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::runtime {

/// The format this runtime reads.
inline constexpr int64_t manifestFormat = 4;

/// Weights start at multiples of this, and as many bytes follow the last one:
/// kernels load whole vectors.
inline constexpr int64_t weightAlignment = 64;

/// Sizes that are known only when a step is built.
enum class Symbol : uint8_t {
  Tokens,     ///< T: tokens in the step, all sequences packed.
  Sequences,  ///< S: sequences in the step.
  Blocks,     ///< B: row stride of block_table.
  OutputRows, ///< R: rows that are wanted.
  Context,    ///< C: largest context of the step, rounded up to whole pages.
  QueryTiles, ///< W: entries of the list of query tiles; 0 for plans without one.
};
inline constexpr size_t numSymbols = 6;

/// One value per Symbol, indexed by it.
struct SymbolValues {
  std::array<int64_t, numSymbols> values{};
  int64_t &operator[](Symbol symbol) { return values[static_cast<size_t>(symbol)]; }
  int64_t operator[](Symbol symbol) const { return values[static_cast<size_t>(symbol)]; }
};

/// "T", "S", "B", "R", "C", "W".
std::string_view symbolName(Symbol symbol);
std::optional<Symbol> symbolByName(std::string_view name);

/// A static size or a symbol.
struct Extent {
  std::optional<Symbol> symbol;
  int64_t constant = 0; ///< When there is no symbol; >= 0.

  int64_t at(const SymbolValues &values) const { return symbol ? values[*symbol] : constant; }
  bool operator==(const Extent &) const = default;
};

/// Element type of a buffer: how many bytes hold how many elements.
struct ElementType {
  std::string_view name;
  int64_t blockElements = 1;
  int64_t blockBytes = 0;
};
/// "i32", "f64" and the names of StorageType.def.
std::optional<ElementType> elementTypeByName(std::string_view name);

enum class BufferKind : uint8_t { Input, Weight, Cache, Activation, Output };

/// The per-step inputs that a plan may name.
enum class InputKind : uint8_t { Tokens, Positions, Sequences, BlockTable, OutputRows, QueryTiles, Sampling };
inline constexpr size_t numInputs = 7;

/// What a step can give.
enum class OutputKind : uint8_t {
  Logits,  ///< f32 [R, vocab]; every plan has it, but one for embeddings.
  Choices, ///< i32 [R]: chosen ids.
  Hidden,  ///< f32 [R, ModelInfo::embedding.width]: in place of the logits, in plans for embeddings.
};
inline constexpr size_t numOutputs = 3;

/// What a step is asked for.
enum class StepGoal : uint8_t {
  Logits,  ///< Or hidden states, of a plan for embeddings.
  Sampled, ///< Ids chosen by the rows' parameters.
  Greedy,  ///< The same for rows that all ask for the best id: no logits are stored.
};
inline constexpr size_t numStepGoals = 3;
std::string_view stepGoalName(StepGoal goal);

struct BufferInfo {
  std::string name;
  BufferKind kind = BufferKind::Activation;
  ElementType type;
  std::vector<Extent> dims;               ///< Outermost first; empty for caches.
  InputKind input = InputKind::Tokens;    ///< Input only.
  OutputKind output = OutputKind::Logits; ///< Output only.
  int64_t offset = 0, bytes = 0;          ///< Weight only: range in weights.bin.
  int64_t pageBytes = 0;                  ///< Cache only.
  int32_t slot = -1;                      ///< Activation and Output: shares memory with its slot.

  /// Bytes at these sizes; nullopt when they overflow.
  std::optional<int64_t> bytesAt(const SymbolValues &values) const;
};

/// What a launch asks the device for.
enum class LaunchKind : uint8_t {
  Kernel,         ///< A generated kernel of the target.
  LibraryProduct, ///< A matrix product of the device's library.
};

/// Who multiplies in large steps.
enum class ProductPath : uint8_t { Kernels, Library };

/// One of two ways to compute the same buffers: a launch of the library's path is done in steps of at least `from`
/// tokens whose products the library computes, one of the kernels' path in all others.
struct LaunchPath {
  ProductPath by = ProductPath::Kernels;
  int64_t from = 0; ///< >= 1.
};

struct LaunchInfo {
  LaunchKind kind = LaunchKind::Kernel;
  std::string name;            ///< "blk.0.attn_norm"
  std::string kernel;          ///< Key of TargetInfo::kernels, present in every target that can run it. Kernel only.
  std::vector<int32_t> args;   ///< Indices into Manifest::buffers. LibraryProduct: rows, weights, result.
  std::vector<StepGoal> goals; ///< The steps it is part of; empty = all.
  std::optional<LaunchPath> path;

  // LibraryProduct: result[t, n] = sum over k of rows[t, k] * weights[n, k], + addend[t, n] or bias[n].
  int32_t addend = -1, bias = -1; ///< Indices likewise; -1: none.

  bool serves(StepGoal goal) const;
  /// Whether a step of these sizes does it; `hasLibrary`: the step's products may be the library's.
  bool isDone(const SymbolValues &values, bool hasLibrary) const;
};

struct GridAxis {
  Extent extent;
  int64_t tile = 1; ///< >= 1; ceil(extent / tile) programs.
};

struct KernelVariant {
  struct Limit {
    Symbol symbol;
    int64_t most;
  };
  std::vector<Limit> when; ///< All must hold (symbol <= most); empty = always.
  std::string entry;       ///< Symbol in the target's library.
  std::vector<GridAxis> grid;
  int64_t scratchBytes = 0; ///< Host: per thread.

  // CUDA.
  int64_t threads = 0;     ///< Of a block; one program per block.
  int64_t sharedBytes = 0; ///< Dynamic shared memory of a block.
  int64_t registers = 0;   ///< Per thread; for reports.
  std::string image;       ///< Path of the cubin for exactly the target; may be empty.
  std::string ptx;         ///< Path of the PTX text; may be empty when there is an image.
  std::string source;      ///< Path of the CUDA C++ text; for people.

  bool accepts(const SymbolValues &values) const;
  /// Product over the axes; nullopt when it overflows.
  std::optional<int64_t> programs(const SymbolValues &values) const;
};

/// First match wins; where none matches nothing is run. Never empty; only the last may match always.
using KernelVariants = std::vector<KernelVariant>;

struct TargetInfo {
  TargetKind kind = TargetKind::Host;
  std::string level;   ///< "avx2", "avx512"; "sm_80", "sm_90a".
  std::string library; ///< Host: path inside the artifact.
  std::string math;    ///< CUDA: what products are computed in ("bf16"); for reports.
  std::map<std::string, KernelVariants, std::less<>> kernels;
};

struct KvInfo {
  int64_t pageTokens = 0;
  std::string dtype; ///< "f32", "f16", "bf16" or "fp8_e4m3": how the values of every cache are stored.
  int64_t layers = 0;
  KvLayout layout = KvLayout::Paged;
  int64_t pageStride = 0; ///< Bytes from a page of a cache to its next: the pages of all caches lie side by side.
  int64_t queryTile = 0;  ///< Most tokens of a query tile (QueryTiles.h); 0: no list.

  /// "f16", "f16, contiguous"
  std::string describe() const { return dtype + (layout == KvLayout::Paged ? "" : ", " + std::string(nameOf(layout))); }
};

struct Manifest {
  ModelInfo model;
  std::vector<Symbol> symbols; ///< In the order in which kernels receive them.
  KvInfo kv;
  std::vector<BufferInfo> buffers;
  std::vector<LaunchInfo> launches;
  std::vector<TargetInfo> targets;

  /// Whether some products may be a library's.
  bool usesLibrary() const;
  const TargetInfo *findTarget(std::string_view level) const;
  /// Index of a buffer.
  std::optional<size_t> findOutput(OutputKind kind) const;
  /// What steps give that choose no ids: Logits or Hidden.
  OutputKind rowOutput() const { return model.embedding ? OutputKind::Hidden : OutputKind::Logits; }
  /// Levels of the targets of this kind, in the manifest's order.
  std::vector<std::string> levels(TargetKind kind) const;
  /// Page sizes of the cache buffers, in order.
  std::vector<int64_t> cachePageBytes() const;
};

/// Parses and verifies. `where` names the file in messages; `weightsBytes` is the
/// size of weights.bin. Unsupported for another format version, CorruptData (or
/// the JSON reader's code) for everything else, naming the entry, what was
/// expected and what was found.
Result<Manifest> parseManifest(std::string_view json, std::string_view where, int64_t weightsBytes);

/// The cross-checks of parseManifest, for manifests made in memory.
Status verifyManifest(const Manifest &manifest, int64_t weightsBytes);

} // namespace fusec::runtime
