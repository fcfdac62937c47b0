//===- Client.cpp - an HTTP client for tests, byte by byte if need be --------------===//
#include "test/unit/serve/Client.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <charconv>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace fusec::serve::test {

Client::Client(uint16_t port, int receiveBufferBytes) {
  socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receiveBufferBytes > 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBufferBytes, sizeof receiveBufferBytes);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
    close();
}

Client::~Client() { close(); }

Client::Client(Client &&other) noexcept : socket(std::exchange(other.socket, -1)), buffer(std::move(other.buffer)) {}

void Client::close() {
  if (socket >= 0)
    ::close(std::exchange(socket, -1));
}

void Client::reset() {
  const linger atOnce{1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &atOnce, sizeof atOnce);
  close();
}

void Client::halfClose() { shutdown(socket, SHUT_WR); }

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool Client::readMore(int milliseconds) {
  pollfd wait{socket, POLLIN, 0};
  if (socket < 0 || poll(&wait, 1, milliseconds) != 1)
    return false;
  char bytes[65536];
  const ssize_t got = recv(socket, bytes, sizeof bytes, 0);
  if (got <= 0)
    return false;
  buffer.append(bytes, static_cast<size_t>(got));
  return true;
}

bool Client::readUntil(std::string_view text) {
  while (buffer.find(text) == std::string::npos)
    if (!readMore())
      return false;
  return true;
}

bool Client::closed(int milliseconds) {
  pollfd wait{socket, POLLIN, 0};
  while (poll(&wait, 1, milliseconds) == 1) {
    char bytes[65536];
    const ssize_t got = recv(socket, bytes, sizeof bytes, 0);
    if (got <= 0)
      return true;
    buffer.append(bytes, static_cast<size_t>(got));
  }
  return false;
}

static void parseHead(std::string_view head, Reply &reply) {
  std::from_chars(head.data() + std::min<size_t>(9, head.size()), head.data() + head.size(), reply.status);
  for (size_t line = head.find("\r\n"); line != std::string_view::npos; line = head.find("\r\n", line + 2)) {
    const std::string_view text = head.substr(line + 2, head.find("\r\n", line + 2) - line - 2);
    const size_t colon = text.find(": ");
    if (colon == std::string_view::npos)
      continue;
    std::string name(text.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = std::string(text.substr(colon + 2));
  }
}

bool Client::readChunks(Reply &reply) {
  while (true) {
    if (!readUntil("\r\n"))
      return false;
    const size_t size = std::stoul(buffer, nullptr, 16), begin = buffer.find("\r\n") + 2;
    while (buffer.size() < begin + size + 2)
      if (!readMore())
        return false;
    reply.body += buffer.substr(begin, size);
    buffer.erase(0, begin + size + 2);
    if (size == 0)
      return true;
  }
}

bool Client::readBody(Reply &reply) {
  if (reply.headers.contains("transfer-encoding"))
    return readChunks(reply);
  if (!reply.headers.contains("content-length")) {
    if (reply.status == 204)
      return true;
    const bool ended = closed();
    reply.body = std::exchange(buffer, {});
    return ended;
  }
  const size_t size = std::stoul(reply.headers["content-length"]);
  while (buffer.size() < size)
    if (!readMore())
      return false;
  reply.body = buffer.substr(0, size);
  buffer.erase(0, size);
  return true;
}

Reply Client::read(bool head) {
  Reply reply;
  if (!readUntil("\r\n\r\n"))
    return {};
  const size_t end = buffer.find("\r\n\r\n");
  parseHead(std::string_view(buffer).substr(0, end), reply);
  buffer.erase(0, end + 4);
  return head || reply.status == 100 || readBody(reply) ? reply : Reply{};
}

std::string post(std::string_view path, std::string_view body, std::string_view headers) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

std::string get(std::string_view path, std::string_view headers) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(headers) + "\r\n";
}

Reply fetch(uint16_t port, std::string_view request) {
  Client client(port);
  client.send(request);
  return client.read();
}

} // namespace fusec::serve::test
