//===- PageRoutes.cpp - the web page ------------------------------------------------===//
#include "serve/openai/Api.h"
#include "serve/web/PageFiles.h"

namespace fusec::serve {

/// Scripts, styles and connections of this server alone: whatever text a model writes, nothing else runs or is fetched.
static constexpr std::string_view contentPolicy =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page is no secret, so it needs no key; what it asks for does.
void Api::page(const Visit &visit) {
  const std::string_view path = visit.exchange->request().path;
  const PageFile *file = findPageFile(path == "/" ? "index.html" : path.substr(visit.route.size()));
  if (!file)
    return replyError(visit, {ErrorKind::UnknownRoute, "Invalid URL (GET " + std::string(path.substr(0, 200)) + ")"});
  const bool known = visit.exchange->request().header("if-none-match") == file->etag;
  reply(visit, {.status = known ? 304 : 200,
                .contentType = file->contentType,
                .headers = {{"ETag", file->etag},
                            {"Cache-Control", "no-cache"},
                            {"Content-Security-Policy", std::string(contentPolicy)},
                            {"X-Content-Type-Options", "nosniff"},
                            {"Referrer-Policy", "no-referrer"}},
                .body = known ? std::string() : std::string(file->text)});
}

} // namespace fusec::serve
