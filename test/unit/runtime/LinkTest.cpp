//===- LinkTest.cpp - an application that links FusecRuntime alone -------------===//

#include "runtime/engine/Engine.h"

int main() {
  auto engine = fusec::runtime::Engine::create({.artifact = "/nonexistent"});
  return engine.ok() ? 1 : 0;
}
