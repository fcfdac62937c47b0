//===- Context.cpp - a request as template variables -------------------------===//
#include "runtime/text/jinja/Context.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTrustedRoles[] = {"system",   "developer", "user",        "assistant", "tool",
                                              "function", "ipython",   "environment", "model"};
constexpr std::string_view kTokenSuffix = "_token";

bool isTrustedRole(std::string_view role) {
  return std::find(std::begin(kTrustedRoles), std::end(kTrustedRoles), role) != std::end(kTrustedRoles);
}

class Converter {
public:
  explicit Converter(Budget &b) : budget(b) {}

  Result<Value> convert(const Json &json, bool trusted, int depth) {
    if (depth > kMaxValueDepth)
      return resourceExhausted("JSON nested deeper than " + std::to_string(kMaxValueDepth));
    if (json.is_null())
      return Value::none();
    if (const auto *b = json.get_ptr<const Json::boolean_t *>())
      return Value::boolean(*b);
    if (const auto *u = json.get_ptr<const Json::number_unsigned_t *>(); u && *u > INT64_MAX)
      return Value::number(static_cast<double>(*u));
    if (const auto *i = json.get_ptr<const Json::number_integer_t *>())
      return Value::integer(*i);
    if (const auto *d = json.get_ptr<const Json::number_float_t *>())
      return Value::number(*d);
    if (const auto *s = json.get_ptr<const Json::string_t *>())
      return makeText(budget, Text(*s, trusted));
    if (json.is_array())
      return convertList(json, depth);
    if (!json.is_object())
      return invalidArgument("a template variable of no JSON type");
    FUSEC_ASSIGN_OR_RETURN(Dict dict, convertObject(json, depth));
    return makeDict(budget, std::move(dict));
  }

  Result<Dict> convertObject(const Json &json, int depth) {
    Dict dict;
    for (const auto &[key, value] : json.items()) {
      FUSEC_RETURN_IF_ERROR(budget.step());
      FUSEC_ASSIGN_OR_RETURN(Value converted,
                             depth == 0 ? convertVariable(key, value) : convert(value, false, depth + 1));
      FUSEC_ASSIGN_OR_RETURN(Value name, makeText(budget, Text(key, false)));
      dict.set(std::move(name), std::move(converted));
    }
    return dict;
  }

private:
  /// A variable at the top of the context.
  Result<Value> convertVariable(const std::string &name, const Json &value) {
    if (name == "messages" && value.is_array())
      return convertMessages(value);
    return convert(value, name.ends_with(kTokenSuffix), 1);
  }

  Result<Value> convertList(const Json &json, int depth) {
    std::vector<Value> items;
    for (const Json &element : json) {
      FUSEC_RETURN_IF_ERROR(budget.step());
      FUSEC_ASSIGN_OR_RETURN(Value item, convert(element, false, depth + 1));
      items.push_back(std::move(item));
    }
    return makeSequence(budget, SequenceKind::List, std::move(items));
  }

  Result<Value> convertMessages(const Json &messages) {
    std::vector<Value> items;
    for (const Json &message : messages) {
      FUSEC_ASSIGN_OR_RETURN(Value item, convertMessage(message));
      items.push_back(std::move(item));
    }
    return makeSequence(budget, SequenceKind::List, std::move(items));
  }

  Result<Value> convertMessage(const Json &message) {
    if (!message.is_object())
      return convert(message, false, 2);
    Dict dict;
    for (const auto &[key, value] : message.items()) {
      const auto *text = value.get_ptr<const Json::string_t *>();
      bool trusted = key == "role" && text && isTrustedRole(*text);
      FUSEC_RETURN_IF_ERROR(budget.step());
      FUSEC_ASSIGN_OR_RETURN(Value converted, convert(value, trusted, 3));
      dict.set(Value::text(Text(key, false)), std::move(converted));
    }
    return makeDict(budget, std::move(dict));
  }

  Budget &budget;
};

} // namespace

std::span<const std::string_view> trustedRoles() { return kTrustedRoles; }

Result<Dict> contextFromJson(Budget &budget, const nlohmann::ordered_json &context) {
  if (!context.is_object())
    return invalidArgument("the template's variables must be a JSON object, found " + std::string(context.type_name()));
  return Converter(budget).convertObject(context, 0);
}

} // namespace fusec::text::jinja
