//===- Grid.cpp - one launch of a program ------------------------------------===//

#include "runtime/device/virtual/exec/Grid.h"
#include "runtime/device/virtual/exec/Block.h"

#include <thread>

namespace fusec::virtualgpu {

std::optional<Fault> Grid::run() {
  counts.resize(program.code.size());
  firstSerial = memory.nextBlockSerial();
  const int helpers = settings.checked ? 0 : settings.threads - 1;
  std::vector<std::vector<InstrCounters>> parts(static_cast<size_t>(std::max(helpers, 0)),
                                                std::vector<InstrCounters>(counts.size()));
  std::vector<std::thread> team;
  for (std::vector<InstrCounters> &part : parts)
    team.emplace_back([this, &part] { runBlocks(part); });
  runBlocks(counts);
  for (std::thread &thread : team)
    thread.join();
  for (const std::vector<InstrCounters> &part : parts)
    for (size_t i = 0; i < counts.size(); ++i)
      counts[i] += part[i];
  return fault;
}

void Grid::runBlocks(std::vector<InstrCounters> &into) {
  Block block(*this, into);
  const uint64_t blocks = uint64_t(gridSize[0]) * gridSize[1] * gridSize[2];
  for (uint64_t number; !faulted() && (number = nextBlock.fetch_add(1)) < blocks;)
    block.run(number);
}

void Grid::report(Fault made) {
  std::lock_guard lock(mutex);
  if (!fault)
    fault = std::move(made);
  stopped = true;
}

} // namespace fusec::virtualgpu
