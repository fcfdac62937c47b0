//===- Attributes.cpp - how `a.b` and `a['b']` find a value ------------------===//
//
// Jinja tries attributes before items for `a.b` and items before attributes for
// `a['b']`, so `tool.items` is the dict method even when the dict has that key.
//
//===----------------------------------------------------------------------===//
#include "runtime/text/jinja/Callables.h"
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Methods.h"

namespace fusec::text::jinja {

namespace {

/// Names that Python's own machinery defines on every object; the sandbox hides them.
bool isPythonInternal(std::string_view name) {
  return name.size() > 4 && name.starts_with("__") && name.ends_with("__");
}

Value unsafe(const Value &value, std::string_view name) {
  return Value::undefined("access to attribute " + quotePython(name) + " of '" + value.typeName() +
                          "' object is unsafe.");
}

Value missingAttribute(const Value &value, std::string_view name) {
  return Value::undefined(quotePython(objectTypeName(value)) + " has no attribute " + quotePython(name));
}

} // namespace

std::string objectTypeName(const Value &value) {
  constexpr std::pair<std::string_view, std::string_view> kModules[] = {{"Namespace", "jinja2.utils."},
                                                                        {"Macro", "jinja2.runtime."},
                                                                        {"LoopContext", "jinja2.runtime."},
                                                                        {"Markup", "markupsafe."}};
  if (value.isNone())
    return "None";
  std::string name = value.typeName();
  for (const auto &[type, module] : kModules)
    if (type == name)
      return std::string(module) + name + " object";
  return name + " object";
}

/// Attributes and methods in Python's sense, without items.
Result<std::optional<Value>> Interpreter::ownAttribute(const Value &value, std::string_view name) {
  if (isPythonInternal(name) || mutates(value, name))
    return std::optional<Value>(unsafe(value, name));
  if (const NativeRow *method = findMethod(value, name))
    return std::optional<Value>(bindMethod(*this, value, *method));
  Object *object = value.asObject();
  if (!object)
    return std::optional<Value>();
  FUSEC_ASSIGN_OR_RETURN(std::optional<Value> attribute, object->attribute(*this, name));
  if (attribute && name.starts_with("_"))
    return std::optional<Value>(unsafe(value, name));
  return attribute;
}

Result<Value> Interpreter::getAttribute(const Value &value, std::string_view name) {
  if (value.isUndefined())
    return invalidArgument(value.undefinedMessage());
  FUSEC_ASSIGN_OR_RETURN(std::optional<Value> attribute, ownAttribute(value, name));
  if (attribute)
    return std::move(*attribute);
  if (const Dict *dict = value.asDict())
    if (const Value *found = dict->find(name))
      return *found;
  return missingAttribute(value, name);
}

Result<Value> Interpreter::getItem(const Value &value, const Value &key) {
  FUSEC_ASSIGN_OR_RETURN(std::optional<Value> item, subscript(spending, value, key));
  if (item)
    return std::move(*item);
  if (const Text *name = key.asText()) {
    FUSEC_ASSIGN_OR_RETURN(std::optional<Value> attribute, ownAttribute(value, name->view()));
    return attribute ? std::move(*attribute) : missingAttribute(value, name->view());
  }
  FUSEC_ASSIGN_OR_RETURN(Text shown, toRepr(spending, key));
  return Value::undefined(objectTypeName(value) + " has no element " + shown.bytes());
}

std::string Macro::display() const {
  return "<Macro " + (definition.name.empty() ? std::string("None") : quotePython(definition.name)) + ">";
}

Result<std::optional<Value>> Macro::attribute(Interpreter &interpreter, std::string_view name) {
  if (name == "name")
    return std::optional<Value>(Value::trusted(definition.name));
  if (name != "arguments")
    return std::optional<Value>();
  std::vector<Value> names;
  for (const Parameter &p : definition.parameters)
    names.push_back(Value::trusted(p.name));
  FUSEC_ASSIGN_OR_RETURN(Value tuple, makeSequence(interpreter.budget(), SequenceKind::Tuple, std::move(names)));
  return std::optional<Value>(std::move(tuple));
}

} // namespace fusec::text::jinja
