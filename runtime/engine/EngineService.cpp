//===- EngineService.cpp -------------------------------------------------------===//

#include "runtime/engine/EngineService.h"

#include "runtime/engine/ServiceWorker.h"
#include "runtime/exec/Executor.h"

namespace fusec::runtime {

EngineService::EngineService(std::unique_ptr<ServiceWorker> worker) : worker(std::move(worker)) {}
EngineService::~EngineService() { stop(); }

Result<std::unique_ptr<EngineService>> EngineService::start(const EngineOptions &options,
                                                            const ServiceOptions &serviceOptions) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::create(options));
  return adopt(std::move(engine), serviceOptions);
}

std::unique_ptr<EngineService> EngineService::adopt(std::unique_ptr<Engine> engine,
                                                    const ServiceOptions &serviceOptions) {
  auto worker = std::make_unique<ServiceWorker>(std::move(engine), serviceOptions);
  return std::unique_ptr<EngineService>(new EngineService(std::move(worker)));
}

Result<RequestId> EngineService::submit(Request request, std::shared_ptr<Listener> listener) {
  return worker->submit(std::move(request), std::move(listener));
}

void EngineService::cancel(RequestId id) { worker->cancel(id); }
EngineStats EngineService::stats() const { return worker->stats(); }
EngineHealth EngineService::health() const { return worker->health(); }
Status EngineService::drain(std::chrono::milliseconds patience) { return worker->drain(patience); }
void EngineService::stop() { worker->stop(); }
void EngineService::flushPrefixCache() { worker->flushPrefixCache(); }

const ModelInfo &EngineService::model() const { return worker->engine().model(); }
const text::Tokenizer &EngineService::tokenizer() const { return worker->engine().tokenizer(); }
const text::ChatTemplate *EngineService::chatTemplate() const { return worker->engine().chatTemplate(); }
const MemoryPlan &EngineService::memory() const { return worker->engine().memory(); }
const EngineOptions &EngineService::options() const { return worker->engine().options(); }
const ExecutorInfo &EngineService::executorInfo() const { return worker->engine().executorInfo(); }
std::span<const TokenId> EngineService::endIds() const { return worker->engine().endIds(); }

} // namespace fusec::runtime
