//===- WarpOps.cpp - shuffles, votes, matches, reductions over lanes ---------===//
//
// Each lane names the lanes it works with. A group waits until all of them that
// live have come, then every set of lanes that name each other acts at once.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <cstring>

namespace fusec::virtualgpu {
namespace {

/// Calls act(lanes) for every set of lanes with one member mask, or parks or faults.
template <typename F> void forMembers(Warp &warp, uint32_t slot, F act) {
  const uint32_t *members = warp.lanes<uint32_t>(slot);
  uint32_t wanted = 0;
  for (uint32_t m = warp.mask; m; m &= m - 1)
    wanted |= members[std::countr_zero(m)];
  if (!warp.converged(wanted))
    return;
  for (uint32_t left = warp.mask; left;) {
    int first = std::countr_zero(left);
    uint32_t named = members[first], same = 0;
    for (uint32_t m = left; m; m &= m - 1)
      if (members[std::countr_zero(m)] == named)
        same |= 1u << std::countr_zero(m);
    if ((same & ~named) != 0 || (named & warp.alive) != same)
      return warp.fault(FaultKind::Divergence, "the member mask names " + Warp::describeLanes(named & warp.alive) +
                                                   ", but " + Warp::describeLanes(same) + " execute it");
    left &= ~same;
    act(same);
  }
}

enum class Shuffle { Up, Down, Butterfly, Index };

/// shfl.sync d|p, a, b, c, members: src = a, b, c, members. c holds the segment mask and the clamp.
template <Shuffle Kind> void runShuffle(Warp &warp, const Instr &instr) {
  alignas(64) uint32_t a[warpLanes];
  std::memcpy(a, warp.lanes<uint32_t>(instr.src[0]), sizeof a);
  LaneReader<uint32_t> b(warp, instr, 1), c(warp, instr, 2);
  forMembers(warp, instr.src[3], [&](uint32_t lanes) {
    uint32_t valid = 0, made[warpLanes];
    for (uint32_t m = lanes; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      const int segment = static_cast<int>(c[lane] >> 8 & 31), clamp = static_cast<int>(c[lane] & 31);
      const int by = static_cast<int>(b[lane] & 31), last = (lane & segment) | (clamp & ~segment);
      const int from = Kind == Shuffle::Up          ? lane - by
                       : Kind == Shuffle::Down      ? lane + by
                       : Kind == Shuffle::Butterfly ? lane ^ by
                                                    : (lane & segment) | (by & ~segment);
      const bool inside = Kind == Shuffle::Up ? from >= last : from <= last;
      const int source = inside ? from : lane;
      if (!(lanes >> source & 1))
        return warp.fault(
            FaultKind::Divergence,
            "lane " + std::to_string(lane) + " reads lane " + std::to_string(source) + ", which takes no part", lane);
      made[lane] = a[source];
      valid |= static_cast<uint32_t>(inside) << lane;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
      if (instr.dst[0] != noSlot)
        warp.lanes<uint32_t>(instr.dst[0])[std::countr_zero(m)] = made[std::countr_zero(m)];
    if (instr.dst[1] != noSlot)
      warp.predicate(instr.dst[1]) = (warp.predicate(instr.dst[1]) & ~lanes) | valid;
  });
}

enum class Vote { All, Any, Uniform, Ballot };

template <Vote Kind> void runVote(Warp &warp, const Instr &instr) {
  const uint32_t bits = LaneReader<bool>(warp, instr, 0).bits;
  forMembers(warp, instr.src[1], [&](uint32_t lanes) {
    uint32_t yes = bits & lanes;
    if constexpr (Kind == Vote::Ballot) {
      for (uint32_t m = lanes; m; m &= m - 1)
        warp.lanes<uint32_t>(instr.dst[0])[std::countr_zero(m)] = yes;
    } else {
      bool value = Kind == Vote::All ? yes == lanes : Kind == Vote::Any ? yes != 0 : yes == 0 || yes == lanes;
      uint32_t &to = warp.predicate(instr.dst[0]);
      to = value ? to | lanes : to & ~lanes;
    }
  });
}

/// match: which lanes hold my value; .all: all lanes, if they hold one value.
template <typename T, bool All> void runMatch(Warp &warp, const Instr &instr) {
  alignas(64) T a[warpLanes];
  std::memcpy(a, warp.lanes<T>(instr.src[0]), sizeof a);
  forMembers(warp, instr.src[1], [&](uint32_t lanes) {
    uint32_t equal[warpLanes];
    bool same = true;
    for (uint32_t m = lanes; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      equal[lane] = 0;
      for (uint32_t n = lanes; n; n &= n - 1)
        equal[lane] |= static_cast<uint32_t>(a[std::countr_zero(n)] == a[lane]) << std::countr_zero(n);
      same &= equal[lane] == lanes;
    }
    for (uint32_t m = lanes; m; m &= m - 1)
      if (instr.dst[0] != noSlot)
        warp.lanes<uint32_t>(instr.dst[0])[std::countr_zero(m)] = All ? (same ? lanes : 0) : equal[std::countr_zero(m)];
    if (instr.dst[1] != noSlot)
      warp.predicate(instr.dst[1]) =
          same ? warp.predicate(instr.dst[1]) | lanes : warp.predicate(instr.dst[1]) & ~lanes;
  });
}

template <typename T, auto Op> void runReduce(Warp &warp, const Instr &instr) {
  const T *a = warp.lanes<T>(instr.src[0]);
  forMembers(warp, instr.src[1], [&](uint32_t lanes) {
    T sum = a[std::countr_zero(lanes)];
    for (uint32_t m = lanes & (lanes - 1); m; m &= m - 1)
      sum = Op(sum, a[std::countr_zero(m)]);
    for (uint32_t m = lanes; m; m &= m - 1)
      warp.lanes<T>(instr.dst[0])[std::countr_zero(m)] = sum;
  });
}

void runActiveMask(Warp &warp, const Instr &instr) {
  const uint32_t mask = warp.mask;
  writeLanes<uint32_t>(warp, instr.dst[0], [mask](int) { return mask; });
}

/// elect.sync d|p, members: one leader, the lowest lane.
void runElect(Warp &warp, const Instr &instr) {
  forMembers(warp, instr.src[0], [&](uint32_t lanes) {
    for (uint32_t m = lanes; m && instr.dst[0] != noSlot; m &= m - 1)
      warp.lanes<uint32_t>(instr.dst[0])[std::countr_zero(m)] = static_cast<uint32_t>(std::countr_zero(lanes));
    uint32_t &leader = warp.predicate(instr.dst[1]);
    leader = (leader & ~lanes) | (lanes & -lanes);
  });
}

/// d or d|p.
Status decodeResult(InstructionDecoder &d, ValueType type) {
  const ptx::Operand &to = d.operand(0);
  bool pair = to.kind == ptx::Operand::Kind::Pair;
  FUSEC_ASSIGN_OR_RETURN(d.out.dst[0], d.destinationSlot(pair ? to.parts[0] : to, type));
  if (pair) {
    FUSEC_ASSIGN_OR_RETURN(d.out.dst[1], d.destinationSlot(to.parts[1], {0, false}));
  }
  return {};
}

Status decodeShuffle(InstructionDecoder &d) {
  constexpr Handler handlers[] = {runShuffle<Shuffle::Up>, runShuffle<Shuffle::Down>, runShuffle<Shuffle::Butterfly>,
                                  runShuffle<Shuffle::Index>};
  int kind = d.takeOne({"up", "down", "bfly", "idx"});
  if (kind < 0 || !d.take("b32"))
    return d.error("expected a mode and .b32");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(5, 5));
  d.out.run = handlers[kind];
  FUSEC_RETURN_IF_ERROR(decodeResult(d, {4, false}));
  for (int i = 0; i < 4; ++i)
    FUSEC_RETURN_IF_ERROR(d.source(static_cast<size_t>(i) + 1, i, {4, i == 0 && false}));
  return {};
}

Status decodeVote(InstructionDecoder &d) {
  constexpr Handler handlers[] = {runVote<Vote::All>, runVote<Vote::Any>, runVote<Vote::Uniform>,
                                  runVote<Vote::Ballot>};
  int kind = d.takeOne({"all", "any", "uni", "ballot"});
  d.takeOne({"pred", "b32"});
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(3, 3));
  if (kind < 0)
    return d.error("expected a mode");
  d.out.run = handlers[kind];
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {static_cast<uint8_t>(kind == 3 ? 4 : 0), false}));
  FUSEC_RETURN_IF_ERROR(d.source(1, 0, {0, false}));
  return d.source(2, 1, {4, false});
}

Status decodeMatch(InstructionDecoder &d) {
  bool all = d.take("all");
  if (!all && !d.take("any"))
    return d.error("expected .any or .all");
  d.take("sync");
  bool wide = d.take("b64");
  d.take("b32");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(3, 3));
  d.out.run = all ? (wide ? runMatch<uint64_t, true> : runMatch<uint32_t, true>)
                  : (wide ? runMatch<uint64_t, false> : runMatch<uint32_t, false>);
  FUSEC_RETURN_IF_ERROR(decodeResult(d, {4, false}));
  FUSEC_RETURN_IF_ERROR(d.source(1, 0, {static_cast<uint8_t>(wide ? 8 : 4), false}));
  return d.source(2, 1, {4, false});
}

Status decodeReduce(InstructionDecoder &d) {
  bool isSigned = d.take("s32");
  d.takeOne({"u32", "b32"});
  int op = d.takeOne({"add", "min", "max", "and", "or", "xor"});
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(3, 3));
  constexpr Handler unsignedOps[] = {runReduce<uint32_t, [](uint32_t a, uint32_t b) { return a + b; }>,
                                     runReduce<uint32_t, [](uint32_t a, uint32_t b) { return a < b ? a : b; }>,
                                     runReduce<uint32_t, [](uint32_t a, uint32_t b) { return a > b ? a : b; }>,
                                     runReduce<uint32_t, [](uint32_t a, uint32_t b) { return a & b; }>,
                                     runReduce<uint32_t, [](uint32_t a, uint32_t b) { return a | b; }>,
                                     runReduce<uint32_t, [](uint32_t a, uint32_t b) { return a ^ b; }>};
  if (op < 0)
    return d.error("expected an operation");
  d.out.run = unsignedOps[op];
  if (isSigned && op == 1)
    d.out.run = runReduce<int32_t, [](int32_t a, int32_t b) { return a < b ? a : b; }>;
  if (isSigned && op == 2)
    d.out.run = runReduce<int32_t, [](int32_t a, int32_t b) { return a > b ? a : b; }>;
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {4, false}));
  FUSEC_RETURN_IF_ERROR(d.source(1, 0, {4, false}));
  return d.source(2, 1, {4, false});
}

Status decodeActiveMask(InstructionDecoder &d) {
  d.take("b32");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(1, 1));
  d.out.run = runActiveMask;
  return d.destination(0, 0, {4, false});
}

Status decodeElect(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  d.out.run = runElect;
  FUSEC_RETURN_IF_ERROR(decodeResult(d, {4, false}));
  return d.out.dst[1] == noSlot ? d.error("expected d|p") : d.source(1, 0, {4, false});
}

} // namespace

void addWarpOps(OpcodeTable &table) {
  table.root("shfl.sync", decodeShuffle);
  table.root("vote.sync", decodeVote);
  table.root("match", decodeMatch);
  table.root("redux.sync", decodeReduce);
  table.root("activemask", decodeActiveMask);
  table.root("elect.sync", decodeElect);
}

} // namespace fusec::virtualgpu
