//===- SpecialRegisters.cpp - %tid and friends -------------------------------===//

#include "runtime/device/virtual/exec/SpecialRegisters.h"
#include "runtime/device/virtual/exec/Block.h"

namespace fusec::virtualgpu {
namespace {

struct Row {
  std::string_view name;
  Special which;
  /// Value of one thread of the block.
  uint32_t (*value)(const Block &block, uint32_t warp, uint32_t lane);
};

uint32_t thread(uint32_t warp, uint32_t lane) { return warp * warpLanes + lane; }

template <int Axis> uint32_t tid(const Block &block, uint32_t warp, uint32_t lane) {
  const uint32_t *size = block.grid.blockSize;
  uint32_t t = thread(warp, lane);
  return Axis == 0 ? t % size[0] : Axis == 1 ? t / size[0] % size[1] : t / size[0] / size[1];
}
template <int Axis> uint32_t ntid(const Block &block, uint32_t, uint32_t) { return block.grid.blockSize[Axis]; }
template <int Axis> uint32_t ctaid(const Block &block, uint32_t, uint32_t) { return block.id[Axis]; }
template <int Axis> uint32_t nctaid(const Block &block, uint32_t, uint32_t) { return block.grid.gridSize[Axis]; }
template <uint32_t Value> uint32_t fixed(const Block &, uint32_t, uint32_t) { return Value; }

constexpr Row rows[] = {
    {"%tid.x", Special::TidX, tid<0>},
    {"%tid.y", Special::TidY, tid<1>},
    {"%tid.z", Special::TidZ, tid<2>},
    {"%ntid.x", Special::NtidX, ntid<0>},
    {"%ntid.y", Special::NtidY, ntid<1>},
    {"%ntid.z", Special::NtidZ, ntid<2>},
    {"%ctaid.x", Special::CtaidX, ctaid<0>},
    {"%ctaid.y", Special::CtaidY, ctaid<1>},
    {"%ctaid.z", Special::CtaidZ, ctaid<2>},
    {"%nctaid.x", Special::NctaidX, nctaid<0>},
    {"%nctaid.y", Special::NctaidY, nctaid<1>},
    {"%nctaid.z", Special::NctaidZ, nctaid<2>},
    {"%laneid", Special::LaneId, [](const Block &, uint32_t, uint32_t lane) { return lane; }},
    {"%warpid", Special::WarpId, [](const Block &, uint32_t warp, uint32_t) { return warp; }},
    {"%nwarpid", Special::NwarpId,
     [](const Block &block, uint32_t, uint32_t) { return static_cast<uint32_t>(block.warps.size()); }},
    {"%smid", Special::SmId, fixed<0>},
    {"%nsmid", Special::NsmId, fixed<1>},
    {"%gridid", Special::GridId, fixed<0>},
    {"%lanemask_eq", Special::LaneMaskEq, [](const Block &, uint32_t, uint32_t lane) { return 1u << lane; }},
    {"%lanemask_le", Special::LaneMaskLe,
     [](const Block &, uint32_t, uint32_t lane) { return fullMask >> (31 - lane); }},
    {"%lanemask_lt", Special::LaneMaskLt, [](const Block &, uint32_t, uint32_t lane) { return (1u << lane) - 1; }},
    {"%lanemask_ge", Special::LaneMaskGe, [](const Block &, uint32_t, uint32_t lane) { return fullMask << lane; }},
    {"%lanemask_gt", Special::LaneMaskGt, [](const Block &, uint32_t, uint32_t lane) { return fullMask << 1 << lane; }},
    {"%dynamic_smem_size", Special::DynamicSharedBytes,
     [](const Block &block, uint32_t, uint32_t) { return block.grid.dynamicSharedBytes; }},
    {"%total_smem_size", Special::TotalSharedBytes,
     [](const Block &block, uint32_t, uint32_t) { return static_cast<uint32_t>(block.grid.sharedBytes()); }},
    {"%clusterid.x", Special::ClusterIdX, ctaid<0>},
    {"%clusterid.y", Special::ClusterIdY, ctaid<1>},
    {"%clusterid.z", Special::ClusterIdZ, ctaid<2>},
    {"%nclusterid.x", Special::NclusterIdX, nctaid<0>},
    {"%nclusterid.y", Special::NclusterIdY, nctaid<1>},
    {"%nclusterid.z", Special::NclusterIdZ, nctaid<2>},
    {"%cluster_ctaid.x", Special::ClusterCtaidX, fixed<0>},
    {"%cluster_ctaid.y", Special::ClusterCtaidY, fixed<0>},
    {"%cluster_ctaid.z", Special::ClusterCtaidZ, fixed<0>},
    {"%cluster_nctaid.x", Special::ClusterNctaidX, fixed<1>},
    {"%cluster_nctaid.y", Special::ClusterNctaidY, fixed<1>},
    {"%cluster_nctaid.z", Special::ClusterNctaidZ, fixed<1>},
    {"%cluster_ctarank", Special::ClusterCtaRank, fixed<0>},
    {"%cluster_nctarank", Special::ClusterNctaRank, fixed<1>},
    {"%is_explicit_cluster", Special::IsExplicitCluster, fixed<0>},
};

const Row &row(Special which) {
  for (const Row &candidate : rows)
    if (candidate.which == which)
      return candidate;
  return rows[0];
}

} // namespace

std::optional<Special> specialNamed(std::string_view name) {
  for (const Row &candidate : rows)
    if (candidate.name == name)
      return candidate.which;
  return std::nullopt;
}

void fillSpecialRegisters(Warp &warp) {
  for (const Program::SpecialSlot &slot : warp.program.specials) {
    const Row &special = row(slot.which);
    for (uint32_t lane = 0; lane < warpLanes; ++lane) {
      uint32_t value = special.value(warp.block, warp.index, lane);
      if (slot.bytes == 8)
        warp.lanes<uint64_t>(slot.slot)[lane] = value;
      else if (slot.bytes == 4)
        warp.lanes<uint32_t>(slot.slot)[lane] = value;
      else
        warp.lanes<uint16_t>(slot.slot)[lane] = static_cast<uint16_t>(value);
    }
  }
}

} // namespace fusec::virtualgpu
