//===- CompilerLibrary.cpp - where the compiler half lies --------------------------===//
//
// Apart from the loader: the artifact cache asks for the path in programs that
// have the compiler linked in, too.
//
//===----------------------------------------------------------------------===//
#include "tools/fusec/Compiler.h"

namespace fusec {

/// Beside the executable: <prefix>/bin/fusec and <prefix>/lib/libfusec_compiler.so.
std::filesystem::path compilerLibrary() {
  std::error_code error;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path() / "lib" / "libfusec_compiler.so";
}

} // namespace fusec
