//===- TextApi.cpp - tokenize, detokenize and chat templates ----------------------===//

#include "runtime/capi/Failure.h"
#include "runtime/capi/Handles.h"
#include "runtime/text/ChatPrompt.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace fusec;
using namespace fusec::capi;
using text::TokenId;

namespace {

Status checkFlags(uint32_t flags, uint32_t allowed, const char *function) {
  return (flags & ~allowed) == 0
             ? Status()
             : invalidArgument("flags: " + std::to_string(flags & ~allowed) + " means nothing to " + function);
}

/// What malloc gives: fusec_free works without knowing the type.
template <typename T> T *allocate(size_t count) {
  void *memory = std::malloc(std::max<size_t>(count, 1) * sizeof(T));
  if (!memory)
    throw std::bad_alloc(); // guarded() is above every caller.
  return static_cast<T *>(memory);
}

void give(const std::vector<TokenId> &ids, int32_t **out, size_t *count) {
  static_assert(sizeof(TokenId) == sizeof(int32_t));
  *out = allocate<int32_t>(ids.size());
  std::copy(ids.begin(), ids.end(), *out);
  *count = ids.size();
}

void give(const std::string &text, char **out, size_t *length) {
  *out = allocate<char>(text.size() + 1);
  std::memcpy(*out, text.c_str(), text.size() + 1);
  *length = text.size();
}

/// The arguments of fusec_chat_*.
struct Chat {
  const fusec_engine *engine;
  const char *const *roles;
  const char *const *contents;
  size_t count;
  uint32_t flags;

  Status check(const char *function) const;
  Result<std::vector<text::Segment>> render() const;

private:
  nlohmann::ordered_json context() const;
};

Status Chat::check(const char *function) const {
  FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
  FUSEC_RETURN_IF_ERROR(arrayNotNull(roles, count, "roles"));
  FUSEC_RETURN_IF_ERROR(arrayNotNull(contents, count, "contents"));
  for (size_t i = 0; i < count; ++i) {
    FUSEC_RETURN_IF_ERROR(notNull(roles[i], ("roles[" + std::to_string(i) + "]").c_str()));
    FUSEC_RETURN_IF_ERROR(notNull(contents[i], ("contents[" + std::to_string(i) + "]").c_str()));
  }
  return checkFlags(flags, FUSEC_ANSWER, function);
}

nlohmann::ordered_json Chat::context() const {
  auto messages = nlohmann::ordered_json::array();
  for (size_t i = 0; i < count; ++i)
    messages.push_back(
        {{"role", text::replaceInvalidUtf8(roles[i])}, {"content", text::replaceInvalidUtf8(contents[i])}});
  return text::chatVariables(engine->service->tokenizer(), std::move(messages), (flags & FUSEC_ANSWER) != 0);
}

Result<std::vector<text::Segment>> Chat::render() const {
  const text::ChatTemplate *chat = engine->service->chatTemplate();
  if (!chat)
    return unsupported("model '" + engine->service->model().name + "' has no chat template");
  return chat->renderSegments(context());
}

} // namespace

void fusec_free(void *memory) { std::free(memory); }

fusec_status fusec_tokenize(const fusec_engine *engine, const char *text, size_t length, uint32_t flags, int32_t **ids,
                            size_t *count) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    FUSEC_RETURN_IF_ERROR(arrayNotNull(text, length, "text"));
    FUSEC_RETURN_IF_ERROR(notNull(ids, "ids"));
    FUSEC_RETURN_IF_ERROR(notNull(count, "count"));
    FUSEC_RETURN_IF_ERROR(checkFlags(flags, FUSEC_ADD_SPECIAL | FUSEC_PARSE_SPECIAL, "fusec_tokenize"));
    FUSEC_ASSIGN_OR_RETURN(
        std::vector<TokenId> found,
        engine->service->tokenizer().encode({text, length}, {.addSpecial = (flags & FUSEC_ADD_SPECIAL) != 0,
                                                             .parseSpecial = (flags & FUSEC_PARSE_SPECIAL) != 0}));
    give(found, ids, count);
    return {};
  });
}

fusec_status fusec_detokenize(const fusec_engine *engine, const int32_t *ids, size_t count, uint32_t flags, char **text,
                              size_t *length) {
  return guarded([&]() -> Status {
    FUSEC_RETURN_IF_ERROR(notNull(engine, "engine"));
    FUSEC_RETURN_IF_ERROR(arrayNotNull(ids, count, "ids"));
    FUSEC_RETURN_IF_ERROR(notNull(text, "text"));
    FUSEC_RETURN_IF_ERROR(notNull(length, "length"));
    FUSEC_RETURN_IF_ERROR(checkFlags(flags, FUSEC_KEEP_SPECIAL | FUSEC_CONTINUES_TEXT, "fusec_detokenize"));
    give(engine->service->tokenizer().decode({ids, count}, {.skipSpecial = (flags & FUSEC_KEEP_SPECIAL) == 0,
                                                            .continuesText = (flags & FUSEC_CONTINUES_TEXT) != 0}),
         text, length);
    return {};
  });
}

fusec_status fusec_chat_text(const fusec_engine *engine, const char *const *roles, const char *const *contents,
                             size_t count, uint32_t flags, char **text, size_t *length) {
  return guarded([&]() -> Status {
    const Chat chat{engine, roles, contents, count, flags};
    FUSEC_RETURN_IF_ERROR(chat.check("fusec_chat_text"));
    FUSEC_RETURN_IF_ERROR(notNull(text, "text"));
    FUSEC_RETURN_IF_ERROR(notNull(length, "length"));
    FUSEC_ASSIGN_OR_RETURN(std::vector<text::Segment> segments, chat.render());
    std::string whole;
    for (const text::Segment &segment : segments)
      whole += segment.text;
    give(whole, text, length);
    return {};
  });
}

fusec_status fusec_chat_tokens(const fusec_engine *engine, const char *const *roles, const char *const *contents,
                               size_t count, uint32_t flags, int32_t **ids, size_t *idCount) {
  return guarded([&]() -> Status {
    const Chat chat{engine, roles, contents, count, flags};
    FUSEC_RETURN_IF_ERROR(chat.check("fusec_chat_tokens"));
    FUSEC_RETURN_IF_ERROR(notNull(ids, "ids"));
    FUSEC_RETURN_IF_ERROR(notNull(idCount, "id_count"));
    FUSEC_ASSIGN_OR_RETURN(std::vector<text::Segment> segments, chat.render());
    FUSEC_ASSIGN_OR_RETURN(std::vector<TokenId> found, text::encodeSegments(engine->service->tokenizer(), segments));
    give(found, ids, idCount);
    return {};
  });
}
