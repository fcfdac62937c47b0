//===- MakeToyArtifact.cpp - the tests' toy model, for programs outside the tests --===//
//
//   MakeToyArtifact FOLDER     writes the artifact, which continues "a" with "bcdefghijk..."
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/ToyArtifact.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  const fusec::runtime::test::ToyArtifact files;
  std::error_code error;
  std::filesystem::copy(files.directory(), argv[1], std::filesystem::copy_options::recursive, error);
  return error ? 1 : 0;
}
