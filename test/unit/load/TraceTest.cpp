//===- TraceTest.cpp ---------------------------------------------------------===//

#include "tools/load/Trace.h"

#include "test/unit/tools/TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace fusec;
using namespace fusec::load;

namespace {

struct TraceTest : testing::Test {
  test::TemporaryDirectory directory;
  Result<Trace> read(const char *name, const char *text, size_t limit = 0) {
    std::ofstream(directory.path() / name) << text;
    return readTrace(directory.path() / name, limit);
  }
  std::string error(const char *name, const char *text) {
    Result<Trace> trace = read(name, text);
    std::string message = trace ? "" : trace.status().message();
    size_t begin = message.find(name);
    return begin == std::string::npos ? message : message.substr(begin);
  }
};

TEST_F(TraceTest, ReadsAzureRows) {
  Result<Trace> trace = read("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                      "2023-11-16 23:59:59.5000000,374,44\n"
                                      "2023-11-17 00:00:01.2500000,396,109\n");
  ASSERT_TRUE(trace) << trace.status().message();
  ASSERT_EQ(trace->requests.size(), 2u);
  EXPECT_DOUBLE_EQ(trace->requests[1].arrival, 1.75) << "over midnight";
  EXPECT_EQ(trace->requests[1].promptTokens, 396);
  EXPECT_EQ(trace->requests[1].outputTokens, 109);
  EXPECT_EQ(trace->longestContext(), 505);
}

TEST_F(TraceTest, PromptsShareTokensWhereBlocksAreEqual) {
  Result<Trace> trace = read("m.jsonl", R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [7, 8]}
{"timestamp": 1500, "input_length": 1100, "output_length": 5, "hash_ids": [7, 9, 8]}
)");
  ASSERT_TRUE(trace) << trace.status().message();
  EXPECT_DOUBLE_EQ(trace->requests[1].arrival, 1.5);
  std::vector<text::TokenId> a = promptOf(*trace, 0), b = promptOf(*trace, 1);
  ASSERT_EQ(a.size(), 600u);
  ASSERT_EQ(b.size(), 1100u);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 512, b.begin()));
  EXPECT_NE(a[512], b[512]);
  EXPECT_EQ(a[512], b[1024]) << "the same block";
}

TEST_F(TraceTest, WhatPromptsShareIsScaledWithTheirLengths) {
  Result<Trace> trace =
      read("m.jsonl", R"({"timestamp": 0, "input_length": 1536, "output_length": 64, "hash_ids": [7, 8, 9]}
{"timestamp": 1500, "input_length": 1500, "output_length": 1, "hash_ids": [7, 9, 8]}
)");
  ASSERT_TRUE(trace);
  Trace small = scaled(*trace, 0.05); // 25.6 tokens.
  EXPECT_EQ(small.blockTokens, 26);
  EXPECT_EQ(small.requests[0].promptTokens, 3 * 26);
  EXPECT_EQ(small.requests[0].outputTokens, 3);
  EXPECT_EQ(small.requests[1].promptTokens, 76);
  EXPECT_EQ(small.requests[1].outputTokens, 1) << "at least one";
  std::vector<text::TokenId> a = promptOf(small, 0), b = promptOf(small, 1);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 26, b.begin()));
  EXPECT_NE(a[26], b[26]);
  EXPECT_EQ(a[26], b[52]) << "the same block";
}

TEST_F(TraceTest, PromptsWithoutBlocksAreAllDifferent) {
  Result<Trace> trace = read("a.csv", "heading\n2023-11-16 18:15:46.6,64,4\n2023-11-16 18:15:46.6,64,4\n");
  ASSERT_TRUE(trace);
  EXPECT_NE(promptOf(*trace, 0), promptOf(*trace, 1));
}

TEST_F(TraceTest, StopsAtTheLimit) {
  EXPECT_EQ(read("a.csv", "h\n2023-11-16 18:15:46.6,64,4\nbroken\n", 1)->requests.size(), 1u);
}

TEST_F(TraceTest, NamesTheLineThatIsWrong) {
  EXPECT_EQ(error("a.csv", "h\n2023-11-16 18:15:46.6,64\n"),
            "a.csv:2: expected date time,prompt tokens,generated tokens, found '2023-11-16 18:15:46.6,64'");
  EXPECT_EQ(error("a.csv", "h\n2023-13-16 18:15:46.6,64,4\n").substr(0, 24), "a.csv:2: expected date t");
  EXPECT_EQ(error("a.csv", "h\n2023-11-16 18:15:46.6,-1,4\n"),
            "a.csv:2: lengths: expected 0 to 16777216 tokens, found -1");
  EXPECT_EQ(error("a.csv", "h\n2023-11-16 18:15:46.6,1,4\n2023-11-16 18:15:45.6,1,4\n"),
            "a.csv:3: expected rows in the order of arrival");
  EXPECT_EQ(error("m.jsonl", R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [7]})"),
            "m.jsonl:1: hash_ids: expected one for each 512 of 600 tokens, found 1");
  EXPECT_EQ(error("m.jsonl", R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": ["x"]})"),
            "m.jsonl:1: hash_ids: expected integers, found a string");
  EXPECT_EQ(error("m.jsonl", "{\n").substr(0, 10), "m.jsonl:1:");
  EXPECT_EQ(error("t.txt", ""), "t.txt': expected a name that ends in .csv (Azure) or .jsonl (Mooncake)");
  EXPECT_EQ(readTrace("/nowhere/t.csv").status().code(), ErrorCode::NotFound);
}

} // namespace
