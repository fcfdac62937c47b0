//===- HostMemory.h - the buffers of one step in guarded memory ---------------===//
//
// Every buffer ends 64 bytes before an unreadable page. What a step must not
// rely on is NaN: fresh activations, the 64 bytes of slack, scratch memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/codegen/GuardedBuffer.h"
#include "test/unit/passes/CompiledGraph.h"

namespace fusec::differential {

/// Guarded memory of all-ones bytes: NaN as floats, -1 as integers.
class PoisonedBuffer {
public:
  explicit PoisonedBuffer(int64_t bytes);
  template <typename T = void> T *as() const { return memory.as<T>(); }
  int64_t size() const { return memory.size(); }
  /// False once something wrote behind the end.
  bool slackIsUntouched() const;

private:
  codegen::GuardedBuffer memory;
};

/// Writes the tensor's elements, row-major, as machine values of its element type.
Status writeTensor(const reference::Tensor &tensor, void *memory);
/// Reads elements of a type from memory, row-major.
Result<reference::Tensor> readTensor(reference::Element element, llvm::ArrayRef<int64_t> shape, const void *memory);

/// The logical page pool [pages, P, heads, head] of a cache: its contents where pages belong to
/// sequences, finite garbage elsewhere (stale positions are finite at run time, too).
reference::Tensor pagePool(const reference::Tensor &cache, const Step &step, const PageTable &table, uint32_t seed);
/// The positions that `lengths` reaches as [S, C, heads, head]; 0 elsewhere.
reference::Tensor fromPool(const reference::Tensor &pool, const Step &step, const PageTable &table, int64_t context);

/// Pages in memory: [heads][head][P] for paged_k, [heads][P][head] for paged_v, each value as the type stores it.
void writePages(const reference::Tensor &pool, tile::BufferType type, void *memory);
reference::Tensor readPages(llvm::ArrayRef<int64_t> poolShape, tile::BufferType type, const void *memory);

} // namespace fusec::differential
