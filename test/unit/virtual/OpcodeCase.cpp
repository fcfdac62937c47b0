//===- OpcodeCase.cpp - one instruction, many lanes --------------------------===//

#include "OpcodeCase.h"

#include <map>

namespace fusec::virtualgpu {
namespace {

struct Kind {
  const char *declare, *fromWord, *toWord; ///< %N is the register.
};
const std::map<char, Kind> kinds = {
    {'p', {".pred", "setp.ne.u64 %N, %w, 0;", "selp.b64 %w, 1, 0, %N;"}},
    {'h', {".b16", "cvt.u16.u64 %N, %w;", "cvt.u64.u16 %w, %N;"}},
    {'r', {".b32", "cvt.u32.u64 %N, %w;", "cvt.u64.u32 %w, %N;"}},
    {'d', {".b64", "mov.b64 %N, %w;", "mov.b64 %w, %N;"}},
    {'f',
     {".f32", "{ .reg .b32 %t; cvt.u32.u64 %t, %w; mov.b32 %N, %t; }",
      "{ .reg .b32 %t; mov.b32 %t, %N; cvt.u64.u32 %w, %t; }"}},
    {'g', {".f64", "mov.b64 %N, %w;", "mov.b64 %w, %N;"}},
};

std::string with(std::string text, const std::string &name) {
  for (size_t at; (at = text.find("%N")) != std::string::npos;)
    text.replace(at, 2, name);
  return text + "\n";
}

std::string bodyOf(const OpcodeCase &opcode) {
  const std::string names = "dabc";
  std::string body = ".reg .b64 %w, %at;\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %at, %r0, 32;\nadd.s64 %at, %at, %rd90;\n";
  for (size_t i = 0; i < opcode.kinds.size(); ++i)
    body += std::string(".reg ") + kinds.at(opcode.kinds[i]).declare + " " + names[i] + ";\n";
  for (size_t i = 1; i < opcode.kinds.size(); ++i)
    body += "ld.global.u64 %w, [%at+" + std::to_string(8 * i) + "];\n" +
            with(kinds.at(opcode.kinds[i]).fromWord, std::string(1, names[i]));
  return body + opcode.instruction + ";\n" + with(kinds.at(opcode.kinds[0]).toWord, "d") + "st.global.u64 [%at], %w;\n";
}

} // namespace

void expectOpcode(const OpcodeCase &opcode) {
  SCOPED_TRACE(opcode.instruction);
  VirtualRun run;
  ASSERT_LE(opcode.lanes.size(), 32u);
  std::vector<uint64_t> memory(128, 0);
  for (size_t i = 0; i < 32; ++i)
    for (size_t j = 0; j < 3; ++j)
      memory[4 * i + 1 + j] = opcode.lanes[i % opcode.lanes.size()].in[j];
  uint64_t at = run.upload(memory, "lanes");
  Status loaded = run.load(kernelText(1, bodyOf(opcode)));
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  Status status = run.launch("k", {.parameters = {at}});
  ASSERT_TRUE(status.ok()) << status.message();
  memory = run.download<uint64_t>(at, 128);
  for (size_t i = 0; i < 32; ++i) {
    const OpcodeCase::Lane &lane = opcode.lanes[i % opcode.lanes.size()];
    EXPECT_EQ(memory[4 * i], lane.out) << std::hex << "lane " << i << " of 0x" << lane.in[0] << ", 0x" << lane.in[1]
                                       << ", 0x" << lane.in[2] << ": got 0x" << memory[4 * i] << ", want 0x"
                                       << lane.out;
  }
}

} // namespace fusec::virtualgpu
