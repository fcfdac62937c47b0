//===- Native.cpp - functions of the template language written in C++ --------===//
#include "runtime/text/jinja/Native.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

struct Signature {
  std::vector<std::string_view> names;
  bool variadic = false;
  bool positionalOnly = false;
};

Signature readSignature(std::string_view parameters) {
  Signature signature;
  while (!parameters.empty()) {
    size_t comma = std::min(parameters.find(','), parameters.size());
    std::string_view name = parameters.substr(0, comma);
    if (name == "*")
      signature.variadic = true;
    else if (name == "/")
      signature.positionalOnly = true;
    else
      signature.names.push_back(name);
    parameters.remove_prefix(std::min(comma + 1, parameters.size()));
  }
  return signature;
}

Status bindNamed(const NativeRow &row, const Signature &signature, Args &args, NativeCall &call) {
  if (signature.positionalOnly && !args.named.empty())
    return invalidArgument(call.self.typeName() + "." + std::string(row.name) + "() takes no keyword arguments");
  for (auto &[name, value] : args.named) {
    auto at = std::find(signature.names.begin(), signature.names.end(), name);
    if (at == signature.names.end()) {
      if (!signature.variadic)
        return invalidArgument(std::string(row.name) + "() got an unexpected keyword argument '" + name + "'");
      call.rest.named.emplace_back(name, value);
      continue;
    }
    auto &slot = call.bound[static_cast<size_t>(at - signature.names.begin())];
    if (slot)
      return invalidArgument(std::string(row.name) + "() got multiple values for argument '" + name + "'");
    slot = value;
  }
  return {};
}

Status bind(const NativeRow &row, Args args, NativeCall &call) {
  Signature signature = readSignature(row.parameters);
  call.bound.resize(signature.names.size());
  for (size_t i = 0; i < args.positional.size(); ++i) {
    if (i < signature.names.size())
      call.bound[i] = std::move(args.positional[i]);
    else if (signature.variadic)
      call.rest.positional.push_back(std::move(args.positional[i]));
    else
      return invalidArgument(std::string(row.name) + "() takes at most " + std::to_string(signature.names.size()) +
                             " arguments (" + std::to_string(args.positional.size()) + " given)");
  }
  FUSEC_RETURN_IF_ERROR(bindNamed(row, signature, args, call));
  for (int i = 0; i < row.required; ++i)
    if (!call.bound[static_cast<size_t>(i)])
      return invalidArgument(std::string(row.name) + "() missing required argument '" +
                             std::string(signature.names[static_cast<size_t>(i)]) + "'");
  return {};
}

} // namespace

Result<int64_t> NativeCall::integer(size_t i, int64_t fallback) const {
  if (!bound[i] || bound[i]->isNone())
    return fallback;
  if (auto value = bound[i]->asInt())
    return *value;
  return invalidArgument("'" + bound[i]->typeName() + "' object cannot be interpreted as an integer");
}

Result<const Text *> NativeCall::text(size_t i) const {
  if (const Text *t = bound[i] ? bound[i]->asText() : nullptr)
    return t;
  return invalidArgument("expected a str, found " + (bound[i] ? bound[i]->typeName() : "nothing"));
}

Result<Value> callNative(const NativeRow &row, Interpreter &interpreter, const Value &self, Args args) {
  if (!row.function)
    return unsupported("'" + std::string(row.name) + "' is not supported in templates");
  NativeCall call{interpreter, self, {}, {}};
  FUSEC_RETURN_IF_ERROR(interpreter.budget().step());
  FUSEC_RETURN_IF_ERROR(bind(row, std::move(args), call));
  return row.function(call);
}

const NativeRow *findRow(std::span<const NativeRow> table, std::string_view name) {
  auto row = std::find_if(table.begin(), table.end(), [&](const NativeRow &r) { return r.name == name; });
  return row == table.end() ? nullptr : &*row;
}

} // namespace fusec::text::jinja
