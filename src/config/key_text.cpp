// What is said about keys: in messages, in the commented deck and in the schema.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/key_table.hpp"
#include "config/text.hpp"

namespace isotherm {

const Key* find_key(const Keys& keys, std::string_view name) {
  for (const Key& key : keys)
    if (key.name == name) return &key;
  return nullptr;
}

bool applies(const Key& key, const Keys& keys) {
  if (key.when.key.empty()) return true;
  const std::string_view word = std::get<Choice>(find_key(keys, key.when.key)->target).word();
  return std::find(key.when.words.begin(), key.when.words.end(), word) != key.when.words.end();
}

std::string range_text(const Range& range) {
  if (std::isinf(range.low)) return {};
  if (range.above_low) return fmt::format("above {}, at most {}", shortest(range.low), shortest(range.high));
  return fmt::format("{} to {}", shortest(range.low), shortest(range.high));
}

std::string letters_text(std::string_view letters) {
  std::vector<std::string_view> each;
  for (std::size_t i = 0; i < letters.size(); ++i) each.push_back(letters.substr(i, 1));
  return join(each);
}

std::string when_text(const When& when) {
  return fmt::format("{} {}", when.key, join(when.words, " or "));
}

namespace {

template <class T>
struct Item {
  using type = T;
};
template <class T>
struct Item<std::optional<T>> {
  using type = T;
};

std::string wanted_number(const Key& key, std::string_view what) {
  const bool from = !key.range.above_low;
  return fmt::format("{} {}{}{}{}", what, from ? "from " : "", range_text(key.range),
                     key.unit.empty() ? "" : " ", key.unit);
}

// "a whole number from 1 to 9", "[x, y, z], whole numbers from 1 to 9", or the first and "or [x, y, z]"
std::string wanted_triple(const Key& key, const std::string& kind) {
  if (key.one_for_all) return wanted_number(key, "a " + kind) + ", or [x, y, z]";
  return wanted_number(key, "[x, y, z], " + kind + "s");
}

template <class T>
std::string wanted_value(const Key& key) {
  if constexpr (std::is_same_v<T, double>) return wanted_number(key, "a number");
  if constexpr (std::is_integral_v<T>) return wanted_number(key, "a whole number");
  if constexpr (std::is_same_v<T, Vector3>) return wanted_triple(key, "number");
  if constexpr (std::is_same_v<T, Interval>) return wanted_number(key, "[low, high], numbers");
  if constexpr (std::is_same_v<T, Int3> || std::is_same_v<T, std::array<int, 3>>)
    return wanted_triple(key, "whole number");
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
    return wanted_number(key, "a list of whole numbers");
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of words";
  if constexpr (std::is_same_v<T, Expression>)
    return fmt::format("{} or a formula of {}", wanted_number(key, "a number"), letters_text(key.variables));
  return "text";
}

}  // namespace

std::string wanted_text(const Key& key) {
  std::string wanted = std::visit(
      Overloaded{[](const Choice& choice) {
                   return fmt::format("one of {}", join({choice.words.begin(), choice.words.end()}));
                 },
                 [](const Section&) { return std::string("a map of keys"); },
                 [](const MapList& list) { return fmt::format("a list of {}", list.what); },
                 [](const Written& written) {
                   return std::string(written.form == Written::Form::maps
                                          ? "a list of maps, {key.path: value}"
                                          : "a map of lists, {key.path: [values]}");
                 },
                 [&](auto* value) {
                   using Value = typename Item<std::remove_pointer_t<decltype(value)>>::type;
                   return wanted_value<Value>(key);
                 }},
      key.target);
  if (!key.absent_word.empty()) wanted += fmt::format(", or {}", key.absent_word);
  return wanted;
}

}  // namespace isotherm
