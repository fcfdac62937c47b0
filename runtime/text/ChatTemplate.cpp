//===- ChatTemplate.cpp - messages to prompt text ----------------------------===//
#include "runtime/text/ChatTemplate.h"

#include "runtime/text/jinja/Context.h"
#include "runtime/text/jinja/Interpreter.h"
#include "runtime/text/jinja/Parser.h"

#include <utility>

namespace fusec::text {

namespace {

constexpr const char *kContext = "chat template";

std::tm localNow() {
  std::time_t seconds = std::time(nullptr);
  std::tm now{};
  localtime_r(&seconds, &now);
  return now;
}

} // namespace

struct ChatTemplate::Parsed {
  jinja::Body body;
};

void ChatTemplate::ParsedDeleter::operator()(const Parsed *parsed) const { delete parsed; }

Result<ChatTemplate> ChatTemplate::compile(std::string source) {
  Result<jinja::Body> body = jinja::parseTemplate(source);
  if (!body)
    return body.status().withContext(kContext);
  ChatTemplate result;
  result.text = std::move(source);
  result.parsed.reset(new Parsed{std::move(*body)});
  return result;
}

namespace {

Result<jinja::Text> renderText(const jinja::Body &body, const nlohmann::ordered_json &context,
                               const RenderOptions &options) {
  jinja::Budget budget(options.limits);
  FUSEC_ASSIGN_OR_RETURN(jinja::Dict variables, jinja::contextFromJson(budget, context));
  jinja::Interpreter interpreter(budget, options.now ? *options.now : localNow());
  return interpreter.render(body, variables);
}

} // namespace

Result<std::string> ChatTemplate::render(const nlohmann::ordered_json &context, const RenderOptions &options) const {
  Result<jinja::Text> rendered = renderText(parsed->body, context, options);
  if (!rendered)
    return rendered.status().withContext(kContext);
  return rendered->bytes();
}

Result<std::vector<Segment>> ChatTemplate::renderSegments(const nlohmann::ordered_json &context,
                                                          const RenderOptions &options) const {
  Result<jinja::Text> rendered = renderText(parsed->body, context, options);
  if (!rendered)
    return rendered.status().withContext(kContext);
  std::vector<Segment> segments;
  size_t begin = 0;
  for (const jinja::Text::Run &run : rendered->runs()) {
    segments.push_back({rendered->bytes().substr(begin, run.end - begin), run.trusted});
    begin = run.end;
  }
  return segments;
}

} // namespace fusec::text
