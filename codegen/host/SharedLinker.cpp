//===- SharedLinker.cpp - objects to a shared library, in process ----------===//
#include "codegen/host/SharedLinker.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>
#include <mutex>

LLD_HAS_DRIVER(elf)

namespace fusec::codegen {
namespace fs = std::filesystem;

namespace {
/// Removes its files when it goes.
struct TemporaryFiles {
  std::vector<fs::path> paths;
  ~TemporaryFiles() {
    std::error_code ignored;
    for (const fs::path &path : paths)
      fs::remove(path, ignored);
  }
};

Status writeFile(const fs::path &path, const std::string &bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return out ? Status() : invalidArgument("cannot write '" + path.string() + "'");
}

std::mutex linkerMutex; // lld keeps global state during a link
} // namespace

Status linkShared(const std::vector<std::string> &objects, const fs::path &output) {
  TemporaryFiles files;
  for (size_t i = 0; i < objects.size(); ++i) {
    files.paths.push_back(output.string() + "." + std::to_string(i) + ".o");
    FUSEC_RETURN_IF_ERROR(writeFile(files.paths.back(), objects[i]));
  }
  std::string result = output.string();
  // No build id, no symbol table, no hash of paths: the bytes depend on the objects only.
  std::vector<const char *> arguments{"ld.lld",          "-shared",          "-s", "-z",          "noexecstack",
                                      "--build-id=none", "--hash-style=gnu", "-o", result.c_str()};
  std::vector<std::string> names;
  for (const fs::path &path : files.paths)
    names.push_back(path.string());
  for (const std::string &name : names)
    arguments.push_back(name.c_str());
  std::string text;
  llvm::raw_string_ostream messages(text);
  std::lock_guard<std::mutex> lock(linkerMutex);
  lld::Result status = lld::lldMain(arguments, messages, messages, {{lld::Gnu, &lld::elf::link}});
  if (status.retCode != 0)
    return internalError("linking '" + result + "' failed: " + text);
  return Status();
}

} // namespace fusec::codegen
