//===- Handles.h - what the opaque pointers of fusec.h point to -------------------===//
#pragma once

#include "runtime/capi/GrammarOption.h"
#include "runtime/capi/RequestStream.h"
#include "runtime/capi/fusec.h"
#include "runtime/engine/EngineService.h"

#include <memory>
#include <utility>

struct fusec_engine {
  explicit fusec_engine(std::unique_ptr<fusec::runtime::EngineService> loaded)
      : service(std::move(loaded)), grammars(service->tokenizer()) {}

  std::unique_ptr<fusec::runtime::EngineService> service;
  fusec::capi::GrammarOption grammars;
};

/// Knows no engine: a request outlives its engine when the program wants it to.
struct fusec_request {
  std::shared_ptr<fusec::capi::RequestStream> stream;
};
