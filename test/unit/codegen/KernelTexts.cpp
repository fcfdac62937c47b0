//===- KernelTexts.cpp - the product kernels the compiler makes, as text ----===//
#include "test/unit/codegen/KernelTexts.h"

namespace fusec::codegen {

static std::string str(int64_t v) { return std::to_string(v); }

/// The decode form: one row of x, 64 outputs per program, residual added.
std::string gemvText(StorageType type, int64_t n, int64_t k, int64_t lanes, int64_t step) {
  std::string x = "!tile.buffer<[ragged(T), " + str(k) + "], f32>",
              y = "!tile.buffer<[ragged(T), " + str(n) + "], f32>";
  std::string w = "!tile.buffer<[" + str(n) + ", " + str(k) + "], f32, panel, " + std::string(info(type).name) + ">";
  std::string acc = "vector<1x" + str(lanes) + "xf32>", xa = "vector<1x" + str(step) + "xf32>";
  std::string wb = "vector<" + str(step) + "x" + str(lanes) + "xf32>";
  return "tile.kernel @gemv grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[" + str(n) + "] by " + str(lanes) +
         ">] {\n"
         "^bb0(%x: " +
         x + ", %w: " + w + ", %res: " + y + ", %y: " + y +
         "):\n"
         "  %t = tile.origin 0\n  %n = tile.origin 1\n"
         "  %c0 = arith.constant 0 : index\n  %step = arith.constant " +
         str(step) +
         " : index\n"
         "  %end = arith.constant " +
         str(k) +
         " : index\n"
         "  %zero = arith.constant dense<0.0> : " +
         acc +
         "\n"
         "  %acc = scf.for %k = %c0 to %end step %step iter_args(%a = %zero) -> (" +
         acc +
         ") {\n"
         "    %xa = tile.load %x[%t, %k] map affine_map<(t, k) -> (t, k)> : " +
         x + " -> " + xa +
         "\n"
         "    %wb = tile.load %w[%k, %n] map affine_map<(k, n) -> (n, k)> : " +
         w + " -> " + wb +
         "\n"
         "    %d = tile.dot %xa, %wb, %a : " +
         xa + ", " + wb + " -> " + acc +
         "\n"
         "    scf.yield %d : " +
         acc +
         "\n  }\n"
         "  %r = tile.load %res[%t, %n] map affine_map<(t, n) -> (t, n)> : " +
         y + " -> " + acc +
         "\n"
         "  %o = arith.addf %acc, %r : " +
         acc +
         "\n"
         "  tile.store %o, %y[%t, %n] map affine_map<(t, n) -> (t, n)> : " +
         acc + ", " + y +
         "\n"
         "  tile.return\n}\n";
}

/// The prefill form: weights decoded once per 32 outputs, then tiles of 12 rows.
std::string gemmText(StorageType type, int64_t n, int64_t k, int64_t rows, int64_t lanes, int64_t step) {
  std::string x = "!tile.buffer<[ragged(T), " + str(k) + "], f32>",
              y = "!tile.buffer<[ragged(T), " + str(n) + "], f32>";
  std::string w = "!tile.buffer<[" + str(n) + ", " + str(k) + "], f32, panel, " + std::string(info(type).name) + ">";
  std::string s = "!tile.buffer<[" + str(k) + ", " + str(lanes) + "], f32>";
  std::string acc = "vector<" + str(rows) + "x" + str(lanes) + "xf32>";
  std::string xa = "vector<" + str(rows) + "x" + str(step) + "xf32>",
              wb = "vector<" + str(step) + "x" + str(lanes) + "xf32>";
  return "tile.kernel @gemm grid [#tile.axis<[" + str(n) + "] by " + str(lanes) +
         ">] {\n"
         "^bb0(%x: " +
         x + ", %w: " + w + ", %res: " + y + ", %y: " + y +
         "):\n"
         "  %n = tile.origin 0\n"
         "  %c0 = arith.constant 0 : index\n  %step = arith.constant " +
         str(step) +
         " : index\n"
         "  %rows = arith.constant " +
         str(rows) + " : index\n  %end = arith.constant " + str(k) +
         " : index\n"
         "  %T = tile.extent \"T\"\n"
         "  %s = tile.scratch : " +
         s +
         "\n"
         "  %zero = arith.constant dense<0.0> : " +
         acc +
         "\n"
         "  scf.for %k = %c0 to %end step %step {\n"
         "    %wb = tile.load %w[%k, %n] map affine_map<(k, n) -> (n, k)> : " +
         w + " -> " + wb +
         "\n"
         "    tile.store %wb, %s[%k, %c0] map affine_map<(k, n) -> (k, n)> : " +
         wb + ", " + s +
         "\n"
         "  }\n"
         "  scf.for %t = %c0 to %T step %rows {\n"
         "    %acc = scf.for %k = %c0 to %end step %step iter_args(%a = %zero) -> (" +
         acc +
         ") {\n"
         "      %xa = tile.load %x[%t, %k] map affine_map<(t, k) -> (t, k)> : " +
         x + " -> " + xa +
         "\n"
         "      %wb = tile.load %s[%k, %c0] map affine_map<(k, n) -> (k, n)> : " +
         s + " -> " + wb +
         "\n"
         "      %d = tile.dot %xa, %wb, %a : " +
         xa + ", " + wb + " -> " + acc +
         "\n"
         "      scf.yield %d : " +
         acc +
         "\n    }\n"
         "    %r = tile.load %res[%t, %n] map affine_map<(t, n) -> (t, n)> : " +
         y + " -> " + acc +
         "\n"
         "    %o = arith.addf %acc, %r : " +
         acc +
         "\n"
         "    tile.store %o, %y[%t, %n] map affine_map<(t, n) -> (t, n)> : " +
         acc + ", " + y +
         "\n"
         "  }\n"
         "  tile.return\n}\n";
}

} // namespace fusec::codegen
