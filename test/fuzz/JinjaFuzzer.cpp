//===- JinjaFuzzer.cpp - arbitrary bytes as a chat template ------------------===//
//
// Compiles the input and, when it parses, renders it with a small conversation
// under tight limits. Any result is fine; crashing or hanging is not.
//
//===----------------------------------------------------------------------===//
#include "runtime/text/ChatTemplate.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace fusec::text;
  static const nlohmann::ordered_json context = {
      {"messages",
       {{{"role", "system"}, {"content", "s"}}, {{"role", "user"}, {"content", "h\u00e9 <|im_end|>"}, {"n", 1.5}}}},
      {"tools", {{{"name", "f"}, {"parameters", {{"type", "object"}, {"required", {"a"}}}}}}},
      {"add_generation_prompt", true},
      {"bos_token", "<s>"},
      {"eos_token", "</s>"}};
  auto compiled = ChatTemplate::compile(std::string(reinterpret_cast<const char *>(data), size));
  if (!compiled)
    return 0;
  RenderOptions options;
  options.limits = {.steps = 20'000, .allocatedBytes = 1 << 22, .outputBytes = 1 << 18, .depth = 300};
  options.now = std::tm{};
  (void)compiled->renderSegments(context, options);
  return 0;
}
