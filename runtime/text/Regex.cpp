//===- Regex.cpp - tokenizer expressions on PCRE2 --------------------------===//
#include "runtime/text/Regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fusec::text {

namespace {

/// Backtracking steps one match may take; real tokenizer expressions need a
/// few per character, a hostile one runs into it within a second.
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKiB = 256 * 1024;
constexpr size_t kJitStackBytes = 1 << 20;
constexpr size_t kMaxPatternBytes = 1 << 16;

/// Escapes whose Unicode meaning differs between Oniguruma and PCRE2, as the
/// contents of a bracket expression.
struct ClassEscape {
  char letter;
  std::string_view members;
};
constexpr std::array<ClassEscape, 3> kClassEscapes{{
    // White_Space; PCRE2's \s has U+180E as well.
    {'s', "\\t-\\r\\x{85}\\p{Z}"},
    // Alphabetic, marks, decimal digits, connectors (PCRE2's \w lacks the
    // marks), and in Latin-1 the superscript digits and fractions.
    {'w', "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24B6}-\\x{24E9}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}"},
    // Hexadecimal digit; in PCRE2 horizontal space.
    {'h', "0-9A-Fa-f"},
}};

const ClassEscape *findClassEscape(char letter) {
  for (const ClassEscape &escape : kClassEscapes)
    if (escape.letter == letter)
      return &escape;
  return nullptr;
}

/// Rewrites an Oniguruma expression for PCRE2, character by character.
class PatternTranslator {
public:
  explicit PatternTranslator(std::string_view source) : source(source) {}

  Result<std::string> run() {
    while (at < source.size())
      FUSEC_RETURN_IF_ERROR(step());
    return std::move(out);
  }

private:
  Status step() {
    char c = source[at];
    if (c == '\\' && at + 1 < source.size())
      return escape();
    if (inClass)
      return insideClass(c);
    if (c == '[') {
      inClass = true;
      classStart = true;
      negatedClass = at + 1 < source.size() && source[at + 1] == '^';
    }
    out += source.substr(at, inClass && negatedClass ? 2 : 1);
    at += inClass && negatedClass ? 2 : 1;
    return {};
  }

  Status insideClass(char c) {
    bool first = std::exchange(classStart, false);
    if (c == '[' && (at + 1 >= source.size() || source[at + 1] != ':'))
      return unsupported("regular expression: nested bracket at offset " + std::to_string(at));
    if (c == '&' && at + 1 < source.size() && source[at + 1] == '&')
      return unsupported("regular expression: set intersection at offset " + std::to_string(at));
    if (c == '[')
      return posixClass();
    inClass = !(c == ']' && !first);
    out += c;
    ++at;
    return {};
  }

  Status posixClass() {
    size_t end = source.find(":]", at);
    if (end == std::string_view::npos)
      return unsupported("regular expression: nested bracket at offset " + std::to_string(at));
    out += source.substr(at, end + 2 - at);
    at = end + 2;
    return {};
  }

  Status escape() {
    char letter = source[at + 1];
    char lower = static_cast<char>(letter | 0x20);
    const ClassEscape *known = findClassEscape(lower);
    classStart = false;
    if (known == nullptr || (letter != lower && letter != known->letter - 0x20)) {
      out += source.substr(at, 2);
    } else if (letter == lower) {
      out += inClass ? std::string(known->members) : "[" + std::string(known->members) + "]";
    } else if (!inClass) {
      out += "[^" + std::string(known->members) + "]";
    } else {
      // A negated set has no spelling inside another bracket; PCRE2's own
      // differs by a handful of characters.
      if (letter == 'H')
        return unsupported("regular expression: \\H inside brackets");
      out += source.substr(at, 2);
    }
    at += 2;
    return {};
  }

  std::string_view source;
  std::string out;
  size_t at = 0;
  bool inClass = false;
  bool classStart = false; ///< A ']' here is a member, not the end.
  bool negatedClass = false;
};

std::string errorText(int code) {
  std::array<PCRE2_UCHAR, 160> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char *>(buffer.data());
}

PCRE2_SPTR asUnits(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

} // namespace

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return invalidArgument("regular expression: " + std::to_string(pattern.size()) + " bytes, at most " +
                           std::to_string(kMaxPatternBytes) + " are accepted");
  FUSEC_ASSIGN_OR_RETURN(std::string translated, PatternTranslator(pattern).run());
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  if (!context)
    return resourceExhausted("regular expression: out of memory");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // \C could cut a character in two; everything after relies on whole ones.
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  pcre2_code *code = pcre2_compile(asUnits(translated), translated.size(), options, &error, &offset, context.get());
  if (code == nullptr)
    return invalidArgument("regular expression: " + errorText(error) + " near offset " + std::to_string(offset));
  // Without JIT (refused by the system, say) matching is slower but the same.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(std::shared_ptr<const void>(
      code, [](const void *p) { pcre2_code_free(static_cast<pcre2_code *>(const_cast<void *>(p))); }));
}

Result<Regex> Regex::literal(std::string_view literal) {
  std::string pattern;
  for (char c : literal) {
    bool plain =
        static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (c == '\0')
      pattern += "\\x{0}";
    else
      pattern += plain ? std::string(1, c) : std::string{'\\', c};
  }
  return compile(pattern);
}

struct RegexScanner::Scratch {
  const pcre2_code *code = nullptr;
  pcre2_match_data *data = nullptr;
  pcre2_match_context *context = nullptr;
  pcre2_jit_stack *stack = nullptr;

  ~Scratch() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

RegexScanner::RegexScanner(const Regex &regex) : scratch(std::make_unique<Scratch>()) {
  scratch->code = static_cast<const pcre2_code *>(regex.code.get());
  scratch->data = pcre2_match_data_create(1, nullptr);
  scratch->context = pcre2_match_context_create(nullptr);
  scratch->stack = pcre2_jit_stack_create(32 * 1024, kJitStackBytes, nullptr);
  if (scratch->context == nullptr)
    return;
  pcre2_set_match_limit(scratch->context, kMatchLimit);
  pcre2_set_heap_limit(scratch->context, kHeapLimitKiB);
  if (scratch->stack != nullptr)
    pcre2_jit_stack_assign(scratch->context, nullptr, scratch->stack);
}

RegexScanner::~RegexScanner() = default;

Status RegexScanner::findAll(std::string_view text, std::vector<TextRange> &matches) {
  matches.clear();
  if (scratch->data == nullptr || scratch->context == nullptr)
    return resourceExhausted("regular expression: out of memory");
  for (size_t at = 0; at < text.size();) {
    int count =
        pcre2_match(scratch->code, asUnits(text), text.size(), at, PCRE2_NO_UTF_CHECK, scratch->data, scratch->context);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT)
      count = pcre2_match(scratch->code, asUnits(text), text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          scratch->data, scratch->context);
    if (count == PCRE2_ERROR_NOMATCH)
      return {};
    if (count < 0)
      return resourceExhausted("regular expression: " + errorText(count) + " at byte " + std::to_string(at));
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(scratch->data);
    TextRange match{bounds[0], bounds[1]};
    if (match.begin < at || match.end <= match.begin || match.end > text.size()) {
      // Empty (or turned around by \K): skip one character past it.
      size_t from = std::max(at, std::min(match.end, text.size()));
      at = from < text.size() ? from + utf8Length(text[from]) : text.size();
      continue;
    }
    matches.push_back(match);
    at = match.end;
  }
  return {};
}

} // namespace fusec::text
