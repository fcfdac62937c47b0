//===- Client.h - an HTTP client for tests, byte by byte if need be ----------------===//
//
//   Client client(port);
//   client.send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n");
//   Reply reply = client.read();
//
// Blocking, with a deadline on every call: a test that would hang fails
// instead. Failures show as empty replies (status 0).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace fusec::serve::test {

struct Reply {
  int status = 0;                             ///< 0 = the connection ended or the time was up.
  std::map<std::string, std::string> headers; ///< Names in lower case.
  std::string body;                           ///< Chunks joined.
};

class Client {
public:
  explicit Client(uint16_t port, int receiveBufferBytes = 0);
  ~Client();
  Client(Client &&other) noexcept;
  Client(const Client &) = delete;

  bool connected() const { return socket >= 0; }
  /// False when the connection is broken.
  bool send(std::string_view bytes);
  /// One whole answer. `head`: the answer has no body, whatever its header says.
  Reply read(bool head = false);
  /// More bytes into the buffer; false at the end or after `milliseconds`.
  bool readMore(int milliseconds = 5000);
  /// Reads until `text` has arrived.
  bool readUntil(std::string_view text);
  /// True when the server has closed (waiting for it if need be).
  bool closed(int milliseconds = 5000);
  const std::string &buffered() const { return buffer; }

  void halfClose();
  void reset(); ///< Closes with RST.
  void close();

private:
  bool readBody(Reply &reply);
  bool readChunks(Reply &reply);

  int socket = -1;
  std::string buffer;
};

/// A request with a body of JSON; further header lines end in "\r\n".
std::string post(std::string_view path, std::string_view body, std::string_view headers = "");
std::string get(std::string_view path, std::string_view headers = "");
/// One request on a connection of its own.
Reply fetch(uint16_t port, std::string_view request);

} // namespace fusec::serve::test
