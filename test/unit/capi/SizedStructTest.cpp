//===- SizedStructTest.cpp - programs that are older or newer than the library ---===//

#include "runtime/capi/SizedStruct.h"
#include "test/unit/capi/CapiFixture.h"

namespace fusec::capi {

namespace {

/// A struct as the library knows it: `added` came later.
struct Known {
  size_t struct_size;
  int64_t first;
  int64_t added;
};
/// As a program knows it that was compiled before and after that.
struct Older {
  size_t struct_size;
  int64_t first;
};
struct Newer {
  Known known;
  int64_t next;
};

Result<Known> readAs(const void *given) {
  return readSized(*static_cast<const Known *>(given), Known{0, 10, 20}, "options");
}

} // namespace

template <> inline constexpr size_t firstSize<Known> = 16;

namespace test {

TEST(SizedStruct, AnOlderProgramGetsTheDefaultsOfWhatItLacks) {
  struct {
    Older options{sizeof(Older), 1};
    int64_t behind = 99; // Not the program's to give.
  } memory;
  Result<Known> known = readAs(&memory.options);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->first, 1);
  EXPECT_EQ(known->added, 20);
  EXPECT_EQ(known->struct_size, sizeof(Known));
}

TEST(SizedStruct, AnOlderProgramsMemoryIsNotOverwritten) {
  struct {
    Older out{sizeof(Older), 0};
    int64_t behind = 99;
  } memory;
  auto *out = reinterpret_cast<Known *>(&memory.out);
  ASSERT_TRUE(checkSized(out, "stats").ok());
  writeSized(*out, Known{0, 1, 2});
  EXPECT_EQ(memory.out.struct_size, sizeof(Older));
  EXPECT_EQ(memory.out.first, 1);
  EXPECT_EQ(memory.behind, 99);
  ASSERT_TRUE(initSized(out, sizeof(Older), Known{0, 3, 4}, "options").ok());
  EXPECT_EQ(memory.out.first, 3);
  EXPECT_EQ(memory.behind, 99);
}

TEST(SizedStruct, ANewerProgramIsServedUnlessItAsksForMore) {
  Newer options{{sizeof(Newer), 1, 2}, 0};
  Result<Known> known = readAs(&options);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->added, 2);
  options.next = 5;
  Result<Known> refused = readAs(&options);
  EXPECT_EQ(refused.status().code(), ErrorCode::Unsupported);
  EXPECT_EQ(refused.status().message(), "options: byte 24 is set, but this library knows 24; it is older than the "
                                        "program's fusec.h");
}

TEST(SizedStruct, ANewerProgramsUnknownFieldsAreZeroed) {
  Newer out{{sizeof(Newer), 0, 0}, 77};
  writeSized(out.known, Known{0, 1, 2});
  EXPECT_EQ(out.known.struct_size, sizeof(Newer));
  EXPECT_EQ(out.known.added, 2);
  EXPECT_EQ(out.next, 0);
}

TEST(SizedStruct, SizesThatNoReleaseHadAreRefused) {
  for (size_t size : {size_t(0), size_t(8), size_t(15), maxStructSize + 1, SIZE_MAX}) {
    Known given{size, 1, 2};
    EXPECT_EQ(readAs(&given).status().code(), ErrorCode::InvalidArgument) << size;
    EXPECT_THAT(readAs(&given).status().message(), HasSubstr("expected at least 16; was it initialised?"));
  }
}

TEST(SizedStruct, RealStructsFollowTheRules) {
  struct {
    fusec_request_options options;
    int64_t next = 0;
  } newer;
  ASSERT_EQ(fusec_request_options_init(nullptr, &newer.options, sizeof newer), FUSEC_OK);
  EXPECT_EQ(newer.options.struct_size, sizeof newer);
  ToyArtifact files;
  EnginePointer engine = load(files);
  newer.options.max_tokens = 2;
  newer.options.temperature = 0;
  RequestPointer request = submit(engine, newer.options);
  EXPECT_EQ(fusec_request_wait(request.get(), patience), FUSEC_OK);
  EXPECT_STREQ(choiceOf(request).text, "bc");
  newer.next = 1;
  fusec_request *refused = nullptr;
  EXPECT_EQ(fusec_engine_submit_text(engine.get(), "a", 1, &newer.options, &refused), FUSEC_UNSUPPORTED);
  EXPECT_THAT(fusec_last_error(), HasSubstr("request options: byte"));
  EXPECT_EQ(refused, nullptr);
}

} // namespace test
} // namespace fusec::capi
