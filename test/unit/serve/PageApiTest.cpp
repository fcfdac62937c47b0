//===- PageApiTest.cpp - how the web page is served ---------------------------------===//
#include "serve/web/PageFiles.h"
#include "test/unit/serve/ApiFixture.h"

using namespace fusec::serve;
using namespace fusec::serve::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

class PageApi : public ApiTest {
protected:
  Reply ask(const std::string &path, const std::string &headers = "") {
    return fetch(server->port(), get(path, headers));
  }
};

TEST_F(PageApi, HasTypesAndPolicy) {
  start();
  const std::pair<const char *, const char *> files[] = {{"/", "text/html; charset=utf-8"},
                                                         {"/page/app.js", "text/javascript; charset=utf-8"},
                                                         {"/page/style.css", "text/css; charset=utf-8"},
                                                         {"/page/icon.svg", "image/svg+xml"}};
  for (const auto &[path, type] : files) {
    const Reply reply = ask(path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_EQ(reply.headers.at("content-type"), type);
    EXPECT_THAT(reply.headers.at("content-security-policy"), HasSubstr("default-src 'self'"));
    EXPECT_EQ(reply.headers.at("cache-control"), "no-cache");
    EXPECT_EQ(reply.headers.at("x-content-type-options"), "nosniff");
    EXPECT_FALSE(reply.body.empty());
  }
  EXPECT_EQ(ask("/page/PageFiles.cpp").status, 404);
  EXPECT_EQ(ask("/page/../index.html").status, 404);
  EXPECT_EQ(call("/", json::object()).status, 405);
}

/// Whatever index.html and the scripts name exists, and nothing is fetched from elsewhere.
TEST_F(PageApi, FetchesOnlyItsOwnFiles) {
  for (const char *name :
       {"index.html", "app.js", "charts.js", "chat.js", "client.js", "format.js", "live.js", "style.css"}) {
    const PageFile *file = findPageFile(name);
    ASSERT_NE(file, nullptr) << name;
    const std::string text(file->text);
    EXPECT_THAT(text, testing::Not(HasSubstr("http"))) << name;
    EXPECT_THAT(text, testing::Not(HasSubstr("innerHTML"))) << name;
    for (const std::string before : {"\"page/", "from \"./"})
      for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
        const size_t begin = at + before.size();
        EXPECT_NE(findPageFile(text.substr(begin, text.find('"', begin) - begin)), nullptr) << text.substr(at, 40);
      }
  }
  EXPECT_EQ(findPageFile(""), nullptr);
}

TEST_F(PageApi, AnswersHeadAndKnownTags) {
  start();
  const std::string tag = ask("/").headers.at("etag");
  EXPECT_THAT(tag, testing::MatchesRegex("\"[0-9a-f]+\""));
  EXPECT_NE(ask("/page/app.js").headers.at("etag"), tag);
  Client client(server->port());
  client.send(get("/", "If-None-Match: " + tag + "\r\n"));
  const Reply known = client.read(/*head=*/true); // A 304 has no body.
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(known.headers.at("etag"), tag);
  client.send("HEAD / HTTP/1.1\r\nHost: t\r\n\r\n");
  const Reply head = client.read(/*head=*/true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(findPageFile("index.html")->text.size()));
  EXPECT_EQ(ask("/", "If-None-Match: \"old\"\r\n").status, 200);
}

TEST_F(PageApi, NeedsNoKeyButItsDataDoes) {
  start({.apiKeys = {"key-a"}});
  EXPECT_EQ(ask("/").status, 200);
  EXPECT_EQ(ask("/page/app.js").status, 200);
  for (const char *path : {"/version", "/api/stats", "/api/live"})
    EXPECT_EQ(ask(path).status, 401) << path;
}

TEST_F(PageApi, CanBeLeftOut) {
  start({.page = false});
  EXPECT_EQ(ask("/").status, 404);
  EXPECT_EQ(ask("/page/app.js").status, 404);
  EXPECT_EQ(ask("/version").status, 200);
}

TEST_F(PageApi, IsToldOfTheTemplate) {
  backend.hasTemplate = false;
  start();
  const json version = json::parse(ask("/version").body);
  EXPECT_EQ(version["chat_template"], false);
  EXPECT_EQ(version["context_tokens"], 512);
}

/// Watchers that come and go quickly do not make the events come faster.
TEST_F(PageApi, LiveEventsKeepTheirPace) {
  start();
  for (int i = 0; i < 5; ++i) {
    Client passing(server->port());
    passing.send(get("/api/live"));
    ASSERT_TRUE(passing.readUntil("data: "));
    passing.reset();
    ASSERT_TRUE(waitFor([&] { return server->stats().connections == 0; }));
  }
  Client watcher(server->port());
  watcher.send(get("/api/live"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1400);
  while (std::chrono::steady_clock::now() < end)
    watcher.readMore(100);
  EXPECT_LE(events(watcher.buffered()).size(), 4u); // One at once, then one per half second.
}

} // namespace
