//===- LoadRun.cpp - the client of a load test ----------------------------------===//
#include "tools/load/LoadRun.h"

#include "runtime/base/Json.h"
#include "tools/load/EventSplitter.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <sys/resource.h>

namespace fusec::load {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

/// Completions give (error, value) instead of throwing.
constexpr auto checked = asio::as_tuple(asio::use_awaitable);

struct Target {
  std::string host, port, prefix;
};

Result<Target> parseUrl(const std::string &url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme))
    return invalidArgument("url: expected http://host:port, found '" + url + "'");
  std::string rest = url.substr(scheme.size());
  Target target;
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    target.prefix = rest.substr(slash);
    rest.resize(slash);
    while (target.prefix.ends_with('/'))
      target.prefix.pop_back();
  }
  const size_t colon = rest.rfind(':');
  target.host = rest.substr(0, colon);
  target.port = colon == std::string::npos ? "80" : rest.substr(colon + 1);
  if (target.host.empty() || target.port.empty())
    return invalidArgument("url: expected http://host:port, found '" + url + "'");
  return target;
}

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval &t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

http::request<http::string_body> makeRequest(http::verb verb, const Target &target, const LoadOptions &options,
                                             const std::string &path) {
  http::request<http::string_body> request(verb, target.prefix + path, 11);
  request.set(http::field::host, target.host + ":" + target.port);
  request.set(http::field::connection, "close");
  if (!options.apiKey.empty())
    request.set(http::field::authorization, "Bearer " + options.apiKey);
  return request;
}

int64_t countOr(const nlohmann::json &object, std::string_view key, int64_t fallback) {
  Result<int64_t> count = jsonIntOr(object, key, fallback);
  return count ? *count : fallback;
}

class LoadRunner {
public:
  LoadRunner(const LoadPlan &plan, const LoadOptions &options, Target target, tcp::resolver::results_type endpoints)
      : plan(plan), options(options), target(std::move(target)), endpoints(std::move(endpoints)) {}

  LoadResult run(asio::io_context &loop);

private:
  asio::awaitable<void> warmUp(asio::io_context &loop);
  asio::awaitable<void> closedClient();
  asio::awaitable<void> openLoop(asio::io_context &loop);
  asio::awaitable<void> one(size_t index, double due);
  asio::awaitable<void> exchange(const PlannedRequest &planned, RequestRecord &record);
  asio::awaitable<void> readStream(beast::tcp_stream &stream, const PlannedRequest &planned, RequestRecord &record);
  void takeEvent(std::string_view event, RequestRecord &record);
  double now() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  bool interrupted() const { return options.interrupted && options.interrupted->load(std::memory_order_relaxed); }

  const LoadPlan &plan;
  const LoadOptions &options;
  Target target;
  tcp::resolver::results_type endpoints;
  Clock::time_point start = Clock::now();
  LoadResult result;
  size_t next = 0, ended = 0;
};

LoadResult LoadRunner::run(asio::io_context &loop) {
  if (options.warmups > 0) {
    asio::co_spawn(loop, warmUp(loop), asio::detached);
    loop.run();
    loop.restart();
  }
  result.records.assign(plan.requests.size(), {});
  start = Clock::now();
  const double cpu = cpuSeconds();
  if (plan.concurrency > 0)
    for (int64_t i = 0; i < plan.concurrency; ++i)
      asio::co_spawn(loop, closedClient(), asio::detached);
  else
    asio::co_spawn(loop, openLoop(loop), asio::detached);
  loop.run();
  result.interrupted = interrupted();
  for (const RequestRecord &record : result.records)
    result.seconds = std::max(result.seconds, record.end);
  result.clientCpuSeconds = cpuSeconds() - cpu;
  return std::move(result);
}

asio::awaitable<void> LoadRunner::warmUp(asio::io_context &) {
  RequestRecord ignored;
  for (int64_t i = 0; i < options.warmups && !interrupted(); ++i)
    co_await exchange(plan.requests[static_cast<size_t>(i) % plan.requests.size()], ignored = {});
}

asio::awaitable<void> LoadRunner::closedClient() {
  while (next < plan.requests.size() && !interrupted()) {
    const size_t index = next++;
    co_await one(index, now());
  }
}

asio::awaitable<void> LoadRunner::openLoop(asio::io_context &loop) {
  asio::steady_timer timer(loop);
  for (size_t i = 0; i < plan.requests.size() && !interrupted(); ++i) {
    timer.expires_at(
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(plan.requests[i].arrival)));
    (void)co_await timer.async_wait(checked);
    asio::co_spawn(loop, one(i, plan.requests[i].arrival), asio::detached);
  }
}

asio::awaitable<void> LoadRunner::one(size_t index, double due) {
  RequestRecord &record = result.records[index];
  record.due = due;
  record.sent = now();
  record.promptTokens = plan.requests[index].promptTokens;
  co_await exchange(plan.requests[index], record);
  record.end = now();
  if (record.outputTokens == 0)
    record.outputTokens = static_cast<int64_t>(record.pieces.size());
  ++ended;
  if (options.progress)
    options.progress(ended, plan.requests.size());
}

asio::awaitable<void> LoadRunner::exchange(const PlannedRequest &planned, RequestRecord &record) {
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeoutSeconds)));
  if (auto [failed, endpoint] = co_await stream.async_connect(endpoints, checked); failed) {
    record.error = "connect: " + failed.message();
    co_return;
  }
  stream.socket().set_option(tcp::no_delay(true));
  auto request = makeRequest(http::verb::post, target, options, "/v1/completions");
  request.set(http::field::content_type, "application/json");
  request.body() = planned.body;
  request.prepare_payload();
  if (auto [failed, bytes] = co_await http::async_write(stream, request, checked); failed) {
    record.error = "send: " + failed.message();
    co_return;
  }
  co_await readStream(stream, planned, record);
}

asio::awaitable<void> LoadRunner::readStream(beast::tcp_stream &stream, const PlannedRequest &planned,
                                             RequestRecord &record) {
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  EventSplitter events;
  std::string refusal;
  while (!parser.is_done()) {
    auto [failed, bytes] = co_await http::async_read_some(stream, buffer, parser, checked);
    if (failed) {
      record.error = "read: " + failed.message();
      co_return;
    }
    if (!parser.is_header_done())
      continue;
    record.httpStatus = parser.get().result_int();
    std::string taken = std::exchange(parser.get().body(), {});
    if (record.httpStatus != 200)
      refusal += taken;
    else
      events.push(taken, [&](std::string_view event) { takeEvent(event, record); });
    if (planned.leaveAfter >= 0 && static_cast<int64_t>(record.pieces.size()) >= planned.leaveAfter) {
      record.left = true; // The socket closes with the stream, unread bytes and all.
      co_return;
    }
  }
  if (record.httpStatus != 200)
    record.error = "HTTP " + std::to_string(record.httpStatus) + ": " + refusal.substr(0, 200);
  else if (record.error.empty() && record.pieces.empty() && record.outputTokens == 0)
    record.error = "the stream ended without output";
}

void LoadRunner::takeEvent(std::string_view event, RequestRecord &record) {
  if (bringsText(event)) {
    record.pieces.push_back(now());
    if (record.first < 0)
      record.first = record.pieces.back();
  }
  if (reportsError(event))
    record.error = "error event: " + std::string(event.substr(0, 200));
  if (!mayReportUsage(event))
    return;
  Result<nlohmann::json> json = parseJson(event, "event");
  const nlohmann::json *usage = json ? jsonFind(*json, "usage") : nullptr;
  if (!usage || !usage->is_object())
    return;
  record.outputTokens = countOr(*usage, "completion_tokens", 0);
  record.promptTokens = countOr(*usage, "prompt_tokens", record.promptTokens);
  if (const nlohmann::json *details = jsonFind(*usage, "prompt_tokens_details"))
    record.cachedTokens = countOr(*details, "cached_tokens", -1);
}

Result<tcp::resolver::results_type> resolve(asio::io_context &loop, const Target &target) {
  tcp::resolver resolver(loop);
  error_code failed;
  tcp::resolver::results_type endpoints = resolver.resolve(target.host, target.port, failed);
  if (failed)
    return unavailable(target.host + ":" + target.port + ": " + failed.message());
  return endpoints;
}

Status requireReachable(asio::io_context &loop, const Target &target, const tcp::resolver::results_type &endpoints) {
  tcp::socket socket(loop);
  error_code failed;
  asio::connect(socket, endpoints, failed);
  if (failed)
    return unavailable("no server at " + target.host + ":" + target.port + ": " + failed.message());
  return {};
}

} // namespace

Result<LoadResult> runLoad(const LoadPlan &plan, const LoadOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(Target target, parseUrl(options.url));
  asio::io_context loop(1);
  FUSEC_ASSIGN_OR_RETURN(tcp::resolver::results_type endpoints, resolve(loop, target));
  FUSEC_RETURN_IF_ERROR(requireReachable(loop, target, endpoints));
  return LoadRunner(plan, options, std::move(target), std::move(endpoints)).run(loop);
}

Result<std::string> fetchText(const LoadOptions &options, const std::string &path) {
  FUSEC_ASSIGN_OR_RETURN(Target target, parseUrl(options.url));
  asio::io_context loop(1);
  FUSEC_ASSIGN_OR_RETURN(tcp::resolver::results_type endpoints, resolve(loop, target));
  beast::tcp_stream stream(loop);
  error_code failed;
  stream.connect(endpoints, failed);
  http::response<http::string_body> response;
  if (!failed)
    http::write(stream, makeRequest(http::verb::get, target, options, path), failed);
  beast::flat_buffer buffer;
  if (!failed)
    http::read(stream, buffer, response, failed);
  if (failed)
    return unavailable(options.url + path + ": " + failed.message());
  if (response.result_int() != 200)
    return unavailable(options.url + path + ": HTTP " + std::to_string(response.result_int()));
  return std::move(response.body());
}

} // namespace fusec::load
