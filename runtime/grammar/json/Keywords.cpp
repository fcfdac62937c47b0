//===- Keywords.cpp - the keywords of one schema object --------------------===//
#include "runtime/grammar/json/Keywords.h"

#include "runtime/grammar/RegexParser.h"

#include <algorithm>
#include <array>

namespace fusec::grammar::json {

namespace {

/// The sets a schema's own keywords narrow.
struct OwnSets {
  std::array<bool, kValueTypes> types{true, true, true, true, true, true};
  NumberSet number;
  StringSet string;
  ArraySet array;
  ObjectSet object;
  std::optional<Alternatives> constants;
};

class KeywordReader {
public:
  KeywordReader(SchemaDocument &d, SchemaIndex s, CompileBudget &b) : document(d), schema(s), budget(b) {}

  Alternatives read();
  Alternatives constant(const std::string &below, const nlohmann::json &value);

private:
  using Json = nlohmann::json;
  using Read = void (KeywordReader::*)(const std::string &keyword, const Json &value);
  struct Keyword {
    std::string_view name;
    Read read; ///< Null: says nothing about values, or is read elsewhere.
  };
  static const std::vector<Keyword> &keywords();

  void fail(const std::string &keyword, const std::string &what) {
    budget.fail(invalidArgument("schema " + document.path(schema) + "/" + keyword + ": " + what));
  }
  void refuse(const std::string &keyword, const Json &) {
    budget.fail(unsupported("schema " + document.path(schema) + "/" + keyword + ": this keyword is not supported"));
  }

  /// Needs to know what other keywords looked at; only "anything goes" is easy.
  void readUnevaluated(const std::string &keyword, const Json &value) {
    if (!(value.is_boolean() && value.get<bool>()) && !(value.is_object() && value.empty()))
      refuse(keyword, value);
  }

  void readType(const std::string &keyword, const Json &value);
  void readEnum(const std::string &keyword, const Json &value);
  void readConst(const std::string &keyword, const Json &value) { addConstants({constant(keyword, value)}); }
  void readBound(const std::string &keyword, const Json &value);
  void readMultipleOf(const std::string &keyword, const Json &value);
  void readLength(const std::string &keyword, const Json &value);
  void readPattern(const std::string &keyword, const Json &value);
  void readItems(const std::string &keyword, const Json &value);
  void readPrefixItems(const std::string &keyword, const Json &value);
  void readAdditionalItems(const std::string &keyword, const Json &value);
  void readUniqueItems(const std::string &keyword, const Json &value);
  void readProperties(const std::string &keyword, const Json &value);
  void readPatternProperties(const std::string &keyword, const Json &value);
  void readAdditionalProperties(const std::string &keyword, const Json &value);
  void readPropertyNames(const std::string &keyword, const Json &value);
  void readRequired(const std::string &keyword, const Json &value);

  std::optional<Decimal> decimal(const std::string &keyword, const Json &value);
  uint32_t count(const std::string &keyword, const Json &value);
  void checkPattern(const std::string &keyword, const std::string &pattern);
  Conjunction subschema(const std::string &below, const Json &value);
  ObjectSet::Source &source();
  void addConstants(const std::vector<Alternatives> &values);
  Alternatives arrayConstant(const std::string &below, const Json &value);
  Alternatives objectConstant(const std::string &below, const Json &value);
  void checkUniqueItems();

  SchemaDocument &document;
  SchemaIndex schema;
  CompileBudget &budget;
  OwnSets sets;
};

const std::vector<KeywordReader::Keyword> &KeywordReader::keywords() {
  using R = KeywordReader;
  static const std::vector<Keyword> table = {
      {"type", &R::readType},
      {"enum", &R::readEnum},
      {"const", &R::readConst},
      {"minimum", &R::readBound},
      {"maximum", &R::readBound},
      {"exclusiveMinimum", &R::readBound},
      {"exclusiveMaximum", &R::readBound},
      {"multipleOf", &R::readMultipleOf},
      {"minLength", &R::readLength},
      {"maxLength", &R::readLength},
      {"pattern", &R::readPattern},
      {"minItems", &R::readLength},
      {"maxItems", &R::readLength},
      {"prefixItems", &R::readPrefixItems},
      {"items", &R::readItems},
      {"additionalItems", &R::readAdditionalItems},
      {"uniqueItems", &R::readUniqueItems},
      {"minProperties", &R::readLength},
      {"maxProperties", &R::readLength},
      {"properties", &R::readProperties},
      {"patternProperties", &R::readPatternProperties},
      {"additionalProperties", &R::readAdditionalProperties},
      {"propertyNames", &R::readPropertyNames},
      {"required", &R::readRequired},
      // Refused by name: ignoring them would weaken the schema.
      {"contains", &R::refuse},
      {"unevaluatedItems", &R::readUnevaluated},
      {"unevaluatedProperties", &R::readUnevaluated},
      {"$dynamicRef", &R::refuse},
      {"$recursiveRef", &R::refuse},
  };
  return table;
}

Alternatives KeywordReader::read() {
  const Json &object = document.schema(schema);
  // In the table's order: prefixItems before items, properties before additionalProperties.
  for (const Keyword &keyword : keywords())
    if (auto found = object.find(keyword.name); found != object.end() && !budget.exhausted())
      (this->*keyword.read)(std::string(keyword.name), *found);
  checkUniqueItems();
  Alternatives values;
  const std::array<Alternative, kValueTypes> all{NullSet(),   BooleanSet(), sets.number,
                                                 sets.string, sets.array,   sets.object};
  for (size_t type = 0; type < all.size(); ++type)
    if (sets.types[type])
      values.push_back(all[type]);
  if (sets.constants)
    values = intersect(values, *sets.constants);
  return values;
}

void KeywordReader::readType(const std::string &keyword, const Json &value) {
  static constexpr std::pair<std::string_view, ValueType> names[] = {
      {"null", ValueType::Null},      {"boolean", ValueType::Boolean}, {"number", ValueType::Number},
      {"integer", ValueType::Number}, {"string", ValueType::String},   {"array", ValueType::Array},
      {"object", ValueType::Object}};
  sets.types.fill(false);
  bool number = false;
  for (const Json &item : value.is_array() ? value : Json::array({value})) {
    std::string name = item.is_string() ? item.get<std::string>() : item.dump();
    auto known =
        std::find_if(std::begin(names), std::end(names), [&](const auto &entry) { return entry.first == name; });
    if (known == std::end(names))
      return fail(keyword, "'" + name + "' is no type");
    sets.types[static_cast<size_t>(known->second)] = true;
    number |= name == "number";
    sets.number.integer |= name == "integer";
  }
  sets.number.integer &= !number;
}

void KeywordReader::addConstants(const std::vector<Alternatives> &values) {
  Alternatives any;
  std::set<std::string> strings; // All in one alternative: they share a trie.
  for (const Alternatives &value : values)
    for (const Alternative &alternative : value)
      if (const auto *string = std::get_if<StringSet>(&alternative))
        strings.insert(string->literals->begin(), string->literals->end());
      else
        any.push_back(alternative);
  if (!strings.empty()) {
    StringSet set;
    set.literals = std::move(strings);
    any.push_back(std::move(set));
  }
  sets.constants = sets.constants ? intersect(*sets.constants, any) : any;
}

void KeywordReader::readEnum(const std::string &keyword, const Json &value) {
  if (!value.is_array())
    return fail(keyword, "expected an array");
  std::vector<Alternatives> values;
  for (size_t i = 0; i < value.size() && budget.spend(1); ++i)
    values.push_back(constant(keyword + "/" + std::to_string(i), value[i]));
  addConstants(values);
}

Alternatives KeywordReader::constant(const std::string &below, const Json &value) {
  switch (value.type()) {
  case Json::value_t::null:
    return {NullSet()};
  case Json::value_t::boolean:
    return {BooleanSet{!value.get<bool>(), value.get<bool>()}};
  case Json::value_t::string: {
    StringSet set;
    set.literals = {value.get<std::string>()};
    return {set};
  }
  case Json::value_t::array:
    return arrayConstant(below, value);
  case Json::value_t::object:
    return objectConstant(below, value);
  default:
    break;
  }
  NumberSet set;
  if (std::optional<Decimal> number = decimal(below, value))
    set.low = set.high = NumberSet::Bound{*number, false};
  set.integer = set.low && set.low->value.isInteger();
  return {set};
}

Alternatives KeywordReader::arrayConstant(const std::string &below, const Json &value) {
  ArraySet set;
  for (size_t i = 0; i < value.size() && budget.spend(1); ++i)
    set.prefix.push_back({document.constant(schema, below + "/" + std::to_string(i), value[i])});
  set.min = set.max = static_cast<uint32_t>(value.size());
  return {set};
}

Alternatives KeywordReader::objectConstant(const std::string &below, const Json &value) {
  ObjectSet set;
  ObjectSet::Source own;
  for (const auto &[key, member] : value.items()) {
    own.properties[key] = {document.constant(schema, below + "/" + key, member)};
    set.required.insert(key);
  }
  own.additional = {document.never()};
  set.sources.push_back(std::move(own));
  return {set};
}

std::optional<Decimal> KeywordReader::decimal(const std::string &keyword, const Json &value) {
  std::optional<Decimal> number = value.is_number() ? Decimal::parse(value.dump()) : std::nullopt;
  if (!number)
    fail(keyword, "expected a number of ordinary size, found " + value.dump().substr(0, 40));
  return number;
}

void KeywordReader::readBound(const std::string &keyword, const Json &value) {
  std::optional<Decimal> number = decimal(keyword, value);
  if (!number)
    return;
  NumberSet narrower;
  bool open = keyword.starts_with("exclusive");
  (keyword.ends_with("inimum") ? narrower.low : narrower.high) = NumberSet::Bound{*number, open};
  narrower.integer = sets.number.integer;
  Alternatives met = intersect({sets.number}, {narrower});
  if (met.empty())
    sets.types[static_cast<size_t>(ValueType::Number)] = false;
  else
    sets.number = std::get<NumberSet>(met[0]);
}

void KeywordReader::readMultipleOf(const std::string &keyword, const Json &value) {
  std::optional<Decimal> number = decimal(keyword, value);
  if (!number)
    return;
  if (number->negative || number->isZero())
    return fail(keyword, "expected a number above 0");
  sets.number.multiples.push_back(*number);
}

uint32_t KeywordReader::count(const std::string &keyword, const Json &value) {
  std::optional<Decimal> number = value.is_number() ? Decimal::parse(value.dump()) : std::nullopt;
  if (!number || !number->isInteger() || number->negative) {
    fail(keyword, "expected a non-negative integer, found " + value.dump().substr(0, 40));
    return 0;
  }
  return number->whole.size() > 9 ? 1'000'000'000 : static_cast<uint32_t>(std::stoul("0" + number->whole));
}

void KeywordReader::readLength(const std::string &keyword, const Json &value) {
  struct Target {
    std::string_view name;
    uint32_t &low, &high;
    ValueType type;
  };
  Target targets[] = {{"Length", sets.string.min, sets.string.max, ValueType::String},
                      {"Items", sets.array.min, sets.array.max, ValueType::Array},
                      {"Properties", sets.object.min, sets.object.max, ValueType::Object}};
  uint32_t number = count(keyword, value);
  for (Target &target : targets)
    if (keyword.ends_with(target.name)) {
      (keyword.starts_with("min") ? target.low : target.high) = number;
      if (target.low > target.high)
        sets.types[static_cast<size_t>(target.type)] = false;
    }
}

void KeywordReader::readPattern(const std::string &keyword, const Json &value) {
  if (!value.is_string())
    return fail(keyword, "expected a string");
  checkPattern(keyword, value.get<std::string>());
  sets.string.patterns.insert({value.get<std::string>()});
}

/// Here, where the place is known.
void KeywordReader::checkPattern(const std::string &keyword, const std::string &pattern) {
  if (budget.exhausted())
    return;
  ExprPool pool(budget);
  parseRegex(pool, pattern, RegexAnchors::Anywhere);
  if (budget.exhausted())
    budget.addContext("schema " + document.path(schema) + "/" + keyword);
}

Conjunction KeywordReader::subschema(const std::string &below, const Json &value) {
  if (!value.is_object() && !value.is_boolean())
    fail(below, "expected a schema (an object or a boolean), found " + std::string(jsonTypeName(value)));
  if (value.is_boolean() && value.get<bool>())
    return {};
  if (value.is_object() && value.empty())
    return {};
  return {document.child(schema, below, value)};
}

void KeywordReader::readPrefixItems(const std::string &keyword, const Json &value) {
  if (!value.is_array())
    return fail(keyword, "expected an array of schemas");
  for (size_t i = 0; i < value.size() && budget.spend(1); ++i)
    sets.array.prefix.push_back(subschema(keyword + "/" + std::to_string(i), value[i]));
}

void KeywordReader::readItems(const std::string &keyword, const Json &value) {
  if (value.is_array()) // As drafts before 2020-12 wrote prefixItems.
    return readPrefixItems(keyword, value);
  sets.array.rest = subschema(keyword, value);
}

void KeywordReader::readAdditionalItems(const std::string &keyword, const Json &value) {
  // Only beside a list of items does it say anything.
  const Json *items = jsonFind(document.schema(schema), "items");
  if (items && items->is_array())
    sets.array.rest = subschema(keyword, value);
}

void KeywordReader::readUniqueItems(const std::string &keyword, const Json &value) {
  if (!value.is_boolean())
    fail(keyword, "expected a boolean");
}

/// Trivial for fewer than two items; beyond, an automaton cannot remember the items.
void KeywordReader::checkUniqueItems() {
  const Json *unique = jsonFind(document.schema(schema), "uniqueItems");
  bool never = sets.array.max > 1 && sets.types[static_cast<size_t>(ValueType::Array)];
  if (unique && unique->is_boolean() && unique->get<bool>() && never)
    refuse("uniqueItems", *unique);
}

ObjectSet::Source &KeywordReader::source() {
  if (sets.object.sources.empty())
    sets.object.sources.emplace_back();
  return sets.object.sources[0];
}

void KeywordReader::readProperties(const std::string &keyword, const Json &value) {
  if (!value.is_object())
    return fail(keyword, "expected an object of schemas");
  for (const auto &[key, member] : value.items())
    if (budget.spend(1))
      source().properties[key] = subschema(keyword + "/" + key, member);
}

void KeywordReader::readPatternProperties(const std::string &keyword, const Json &value) {
  if (!value.is_object())
    return fail(keyword, "expected an object of schemas");
  for (const auto &[pattern, member] : value.items()) {
    checkPattern(keyword, pattern);
    source().patterns.push_back({pattern, subschema(keyword + "/" + pattern, member)});
  }
}

void KeywordReader::readAdditionalProperties(const std::string &keyword, const Json &value) {
  source().additional = subschema(keyword, value);
}

void KeywordReader::readPropertyNames(const std::string &keyword, const Json &value) {
  sets.object.names = subschema(keyword, value);
}

void KeywordReader::readRequired(const std::string &keyword, const Json &value) {
  if (!value.is_array())
    return fail(keyword, "expected an array of strings");
  for (const Json &name : value) {
    if (!name.is_string())
      return fail(keyword, "expected strings only");
    sets.object.required.insert(name.get<std::string>());
  }
  if (sets.object.required.size() > sets.object.max)
    sets.types[static_cast<size_t>(ValueType::Object)] = false;
}

} // namespace

Alternatives readKeywords(SchemaDocument &document, SchemaIndex schema, CompileBudget &budget) {
  return KeywordReader(document, schema, budget).read();
}

Alternatives readConstant(SchemaDocument &document, SchemaIndex schema, const std::string &below,
                          const nlohmann::json &value, CompileBudget &budget) {
  return KeywordReader(document, schema, budget).constant(below, value);
}

} // namespace fusec::grammar::json
