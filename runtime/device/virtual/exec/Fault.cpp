//===- Fault.cpp - what a kernel did wrong -----------------------------------===//

#include "runtime/device/virtual/exec/Fault.h"

#include <cstdio>

namespace fusec::virtualgpu {

std::string_view faultKindName(FaultKind kind) {
  switch (kind) {
  case FaultKind::WildAccess:
    return "wild access";
  case FaultKind::OutOfBounds:
    return "access out of bounds";
  case FaultKind::Misaligned:
    return "misaligned access";
  case FaultKind::Uninitialised:
    return "uninitialised read";
  case FaultKind::RaceInBlock:
    return "data race inside a block";
  case FaultKind::RaceBetweenBlocks:
    return "data race between blocks";
  case FaultKind::AsyncHazard:
    return "hazard with a copy in flight";
  case FaultKind::UnfinishedCopies:
    return "exit with copies in flight";
  case FaultKind::BarrierMisuse:
    return "barrier misuse";
  case FaultKind::Divergence:
    return "divergent warp instruction";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::Budget:
    return "instruction budget spent";
  case FaultKind::Trap:
    return "trap";
  case FaultKind::BadOperand:
    return "bad operand";
  }
  return "fault";
}

std::string Fault::message() const {
  auto triple = [](const uint32_t (&v)[3]) {
    return std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]);
  };
  std::string text = std::string(faultKindName(kind)) + " in kernel '" + kernel + "', PTX line " +
                     std::to_string(ptxLine) + " (" + opcode + ")";
  if (!source.empty())
    text += ", " + source;
  text += ", block " + triple(block) + ", thread " + triple(thread) + ": " + what;
  if (address) {
    char hex[32];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(address));
    text += std::string("; address ") + hex;
  }
  if (!owner.empty())
    text += ", " + owner;
  return text;
}

} // namespace fusec::virtualgpu
