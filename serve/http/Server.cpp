//===- Server.cpp - an HTTP/1.1 server on one event loop ----------------------===//
#include "serve/http/Server.h"

#include "serve/http/Connection.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace fusec::serve::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds sweepInterval{200};

class LoopServer final : public Server {
public:
  explicit LoopServer(const ServerOptions &options) {
    shared.options = options;
    shared.onClosed = [this](Connection *connection) { removeLater(connection); };
  }
  ~LoopServer() override { stop(std::chrono::milliseconds(0)); }

  Status listen();
  void run(Handler handler) override;

  uint16_t port() const override { return boundPort; }
  ServerStats stats() const override;
  void stop(std::chrono::milliseconds deadline) override;
  void post(std::function<void()> work) override { asio::post(loop, std::move(work)); }
  void after(std::chrono::milliseconds delay, std::function<void()> work) override;

private:
  void accept();
  void onAccepted(tcp::socket socket);
  void sweep();
  void removeLater(Connection *connection);
  void publishStats();

  asio::io_context loop{1};
  tcp::acceptor acceptor{loop};
  asio::steady_timer sweeper{loop}, acceptDelay{loop};
  ServerShared shared;
  std::set<std::shared_ptr<Connection>> connections;
  uint16_t boundPort = 0;

  mutable std::mutex mutex;
  std::condition_variable emptied;
  ServerStats published; ///< Guarded by mutex, like the two below.
  bool allClosed = false, stopped = false;
  std::thread thread;
};

Status LoopServer::listen() {
  const ServerOptions &options = shared.options;
  const std::string where = options.host + ":" + std::to_string(options.port);
  error_code error;
  tcp::resolver resolver(loop);
  auto found = resolver.resolve(options.host, std::to_string(options.port),
                                tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty())
    return invalidArgument("cannot listen on " + where + ": " + error.message());
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error)
    acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error)
    acceptor.bind(endpoint, error);
  if (!error)
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return invalidArgument("cannot listen on " + where + ": " + error.message());
  boundPort = acceptor.local_endpoint(error).port();
  return {};
}

void LoopServer::run(Handler handler) {
  shared.handler = std::move(handler);
  accept();
  sweep();
  thread = std::thread([this] { loop.run(); });
}

void LoopServer::accept() {
  acceptor.async_accept([this](const error_code &error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || shared.stopping)
      return;
    if (!error) {
      onAccepted(std::move(socket));
      accept();
      return;
    }
    // Out of file descriptors: wait for some to be closed.
    acceptDelay.expires_after(std::chrono::milliseconds(100));
    acceptDelay.async_wait([this](const error_code &cancelled) {
      if (!cancelled)
        accept();
    });
  });
}

void LoopServer::onAccepted(tcp::socket socket) {
  auto connection = std::make_shared<Connection>(std::move(socket), shared);
  const bool tooMany = static_cast<int>(connections.size()) >= shared.options.maxConnections;
  connections.insert(connection);
  ++shared.stats.accepted;
  if (tooMany) {
    ++shared.stats.refused;
    connection->refuse();
  } else {
    connection->start();
  }
  publishStats();
}

void LoopServer::removeLater(Connection *connection) {
  // Not now: the connection is in a call of its own.
  asio::post(loop, [this, kept = connection->shared_from_this()] {
    connections.erase(kept);
    publishStats();
    if (!shared.stopping || !connections.empty())
      return;
    std::lock_guard lock(mutex);
    allClosed = true;
    emptied.notify_all();
  });
}

void LoopServer::sweep() {
  sweeper.expires_after(sweepInterval);
  sweeper.async_wait([this](const error_code &cancelled) {
    if (cancelled)
      return;
    const auto now = Connection::Clock::now();
    for (const auto &connection : connections)
      connection->checkDeadlines(now);
    sweep();
  });
}

void LoopServer::publishStats() {
  std::lock_guard lock(mutex);
  published = shared.stats;
  published.connections = static_cast<int64_t>(connections.size());
}

ServerStats LoopServer::stats() const {
  std::lock_guard lock(mutex);
  return published;
}

void LoopServer::after(std::chrono::milliseconds delay, std::function<void()> work) {
  auto timer = std::make_shared<asio::steady_timer>(loop, delay);
  timer->async_wait([timer, work = std::move(work)](const error_code &cancelled) {
    if (!cancelled)
      work();
  });
}

void LoopServer::stop(std::chrono::milliseconds deadline) {
  {
    std::lock_guard lock(mutex);
    if (std::exchange(stopped, true))
      return;
  }
  if (!thread.joinable())
    return;
  asio::post(loop, [this] {
    shared.stopping = true;
    error_code ignored;
    acceptor.close(ignored);
    for (const auto &connection : connections)
      connection->closeWhenIdle();
    std::lock_guard lock(mutex);
    allClosed = connections.empty();
    emptied.notify_all();
  });
  std::unique_lock lock(mutex);
  emptied.wait_for(lock, deadline, [this] { return allClosed; });
  lock.unlock();
  asio::post(loop, [this] {
    for (const auto &connection : connections)
      connection->close();
    asio::post(loop, [this] { loop.stop(); });
  });
  thread.join();
}

} // namespace

Result<std::unique_ptr<Server>> Server::bind(const ServerOptions &options) {
  auto server = std::make_unique<LoopServer>(options);
  FUSEC_RETURN_IF_ERROR(server->listen());
  return std::unique_ptr<Server>(std::move(server));
}

} // namespace fusec::serve::http
