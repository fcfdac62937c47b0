//===- TablesTest.cpp - the tables of filters, tests, methods and globals ----===//
#include "runtime/text/jinja/Filters.h"
#include "runtime/text/jinja/Globals.h"
#include "runtime/text/jinja/Methods.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/Tests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace fusec::text::jinja;

namespace {

void expectWellFormed(std::span<const NativeRow> table) {
  std::set<std::string_view> names;
  for (const NativeRow &row : table) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    auto commas = std::count(row.parameters.begin(), row.parameters.end(), ',');
    EXPECT_LE(row.required, row.parameters.empty() ? 0 : commas + 1) << row.name;
  }
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end(), [](auto &a, auto &b) { return a.name < b.name; }))
      << table[0].name;
}

} // namespace

TEST(Tables, AreSortedAndConsistent) {
  for (auto table : {textFilters(), sequenceFilters(), valueFilters(), testTable(), textMethods(), textSearchMethods(),
                     globalFunctions()})
    expectWellFormed(table);
}

TEST(Tables, EveryRowIsFound) {
  for (auto table : {textFilters(), sequenceFilters(), valueFilters()})
    for (const NativeRow &row : table)
      EXPECT_EQ(findFilter(row.name), &row);
  for (const NativeRow &row : testTable())
    EXPECT_EQ(findTest(row.name), &row);
  Value text = Value::trusted("x");
  for (auto table : {textMethods(), textSearchMethods()})
    for (const NativeRow &row : table)
      EXPECT_EQ(findMethod(text, row.name), &row);
}

TEST(Tables, KnowEveryFilterAndTestOfJinja) {
  for (const char *name :
       {"abs",       "attr",       "batch",    "capitalize", "center", "count",   "d",        "default",    "dictsort",
        "e",         "escape",     "first",    "float",      "format", "groupby", "indent",   "int",        "items",
        "join",      "last",       "length",   "list",       "lower",  "map",     "max",      "min",        "pprint",
        "reject",    "rejectattr", "replace",  "reverse",    "round",  "safe",    "select",   "selectattr", "slice",
        "sort",      "string",     "sum",      "title",      "tojson", "trim",    "truncate", "unique",     "upper",
        "urlencode", "wordcount",  "wordwrap", "xmlattr"})
    EXPECT_NE(findFilter(name), nullptr) << name;
  for (const char *name :
       {"defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence", "in", "==", "sameas"})
    EXPECT_NE(findTest(name), nullptr) << name;
  EXPECT_EQ(findFilter("from_json"), nullptr);
}
