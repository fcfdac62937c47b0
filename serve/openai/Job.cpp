//===- Job.cpp --------------------------------------------------------------------===//
#include "serve/openai/Job.h"

#include <utility>

namespace fusec::serve {

void Job::watchClient(std::weak_ptr<Job> self) {
  exchange->onAbandoned([self = std::move(self)](http::Departure why) {
    if (auto job = self.lock())
      job->onAbandoned(why);
  });
}

Failure Job::submit(runtime::Request request, std::shared_ptr<runtime::RequestListener> listener) {
  auto id = backend.submit(std::move(request), std::move(listener));
  if (!id)
    return errorFor(id.status());
  ids.push_back(*id);
  return {};
}

void Job::cancelAll() {
  for (runtime::RequestId id : ids)
    backend.cancel(id);
}

void Job::end(JobReport report) {
  ended = true;
  exchange.reset();
  if (hooks.onEnd)
    std::exchange(hooks.onEnd, nullptr)(report);
}

void Job::endWith(const ApiError &error) {
  const nlohmann::json code = error.toJson()["error"]["code"];
  end({.status = error.status(), .error = code.is_string() ? code.get<std::string>() : "error"});
}

void Job::onAbandoned(http::Departure why) {
  if (ended)
    return;
  cancelAll();
  end({.status = 499, .error = why == http::Departure::TooSlow ? "client_read_too_slowly" : "client_closed_request"});
}

} // namespace fusec::serve
