#include "config/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "config/problems.hpp"
#include "config/text.hpp"

namespace isotherm {

namespace {

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// muParser takes "1,5*y" for two formulas and evaluates the last, and "y=3" for an assignment. What formulas
// of other programs have, it takes for a slip.
void refuse_what_is_meant_otherwise(const std::string& text) {
  std::vector<bool> in_call;  // of each open parenthesis: does it follow a name?
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  char before = '\0';  // the last character that is no space
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') in_call.push_back(is_of_name(before));
    if (c == ')' && !in_call.empty()) in_call.pop_back();
    if (c == ',' && (in_call.empty() || !in_call.back()))
      throw FormulaError{"',' outside the arguments of a function (the decimal sign is '.')", i};
    if (c == '=' && at(i + 1) != '=' && std::string_view("=<>!").find(before) == std::string_view::npos)
      throw FormulaError{"'=' would assign ('==' compares)", i};
    if (c == '*' && at(i + 1) == '*') throw FormulaError{"'**' is no operator (powers are '^')", i};
    if (c == 'T' && !is_of_name(at(i + 1)) && (i == 0 || !is_of_name(text[i - 1])))
      throw FormulaError{
          "'T' is no variable (what depends on the temperature is not available in this version)", i};
    if (c != ' ') before = c;
  }
}

// muParser's own places in its messages count otherwise than ours.
std::string without_position(std::string problem) {
  for (const char* const tail : {" found at position", " at position"})
    if (const auto start = problem.find(tail); start != problem.npos) problem.resize(start);
  while (!problem.empty() && problem.back() == '.') problem.pop_back();
  if (!problem.empty()) problem[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(problem[0])));
  return problem;
}

}  // namespace

Expression compile_formula(const std::string& text, std::string_view variables) {
  refuse_what_is_meant_otherwise(text);
  try {
    return Expression(text, variables);
  } catch (const FormulaError& error) {
    throw FormulaError{without_position(error.problem), error.position};
  }
}

namespace {

using Kind = YamlNode::Kind;

constexpr std::size_t longest_text = 4096;  // bytes of a formula or path

// One value at one place. Each `read` stores and says true, or adds a problem and says false.
class ValueReader {
 public:
  ValueReader(const YamlNode& node, const Key& key, std::string path, Problems& problems)
      : node_(node), key_(key), path_(std::move(path)), problems_(problems) {}

  template <class T>
  bool read(std::optional<T>& target) {
    if (node_.kind == Kind::scalar && !key_.absent_word.empty() && node_.text == key_.absent_word) {
      target.reset();
      return true;
    }
    T value{};
    if (!read(value)) return false;
    target = std::move(value);
    return true;
  }
  bool read(double& target) { return read_number(target, parse_real); }
  bool read(std::int64_t& target) { return read_number(target, parse_count); }
  bool read(int& target) {
    std::int64_t value = 0;
    if (!read(value)) return false;
    target = static_cast<int>(value);  // the ranges of int keys in the table fit
    return true;
  }
  bool read(Int3& target) { return read_triple<Index>(target); }
  bool read(Vector3& target) { return read_triple<double>(target); }
  bool read(Interval& target);
  bool read(std::array<int, 3>& target) { return read_triple<int>(target); }
  bool read(std::vector<std::int64_t>& target);
  bool read(std::vector<std::string>& target);
  bool read(std::string& target);
  bool read(Expression& target);
  bool read(const Choice& choice);

 private:
  bool refuse(const std::string& problem) { return refuse(problem, "write " + wanted_text(key_)); }
  bool refuse(const std::string& problem, const std::string& advice) {
    problems_.add(node_.place, path_, fmt::format("{}; {}", problem, advice));
    return false;
  }
  bool refuse_formula(const FormulaError& error);

  bool is_something();
  bool is_scalar();
  bool is_text();
  bool has_unit();
  std::string_view why_one_number() const;
  bool is_in_range(double value);

  template <class Number>
  bool read_number(Number& target, ParsedNumber<Number> (*parse)(std::string_view));
  template <class Number, class Triple>
  bool read_triple(Triple& target);
  template <class Number>
  bool read_item(std::size_t index, Number& target);

  const YamlNode& node_;
  const Key& key_;
  std::string path_;
  Problems& problems_;
};

bool ValueReader::is_something() {
  const bool is_nothing = node_.kind == Kind::null || (node_.kind == Kind::scalar && node_.text.empty());
  return !is_nothing || refuse("has no value");
}

bool ValueReader::is_scalar() {
  if (!is_something()) return false;
  return node_.kind == Kind::scalar ||
         refuse(fmt::format("{} stands where one value is wanted{}", name_of(node_.kind), why_one_number()));
}

// Of a material, which other programs give as lists or formulas.
std::string_view ValueReader::why_one_number() const {
  if (!path_.starts_with("material.")) return {};
  return " (what differs by axis, place or temperature is not available in this version)";
}

bool ValueReader::has_unit() {
  const std::string advice = advice_on_unit(node_.text, key_.unit);
  if (advice.empty()) return false;
  refuse(fmt::format("'{}' has a unit", printable(node_.text)), advice);
  return true;
}

bool ValueReader::is_text() {
  if (!is_scalar()) return false;
  if (node_.text.size() <= longest_text) return true;
  return refuse(fmt::format("{} characters are too many", node_.text.size()),
                fmt::format("write at most {}", longest_text));
}

bool ValueReader::is_in_range(double value) {
  const Range& range = key_.range;
  if (value >= range.low && value <= range.high && !(range.above_low && value == range.low)) return true;
  return refuse(fmt::format("{} is out of range", printable(node_.text)));
}

template <class Number>
bool ValueReader::read_number(Number& target, ParsedNumber<Number> (*parse)(std::string_view)) {
  if (!is_scalar() || has_unit()) return false;
  if (node_.quoted) return refuse(fmt::format("'{}' in quotes is text, not a number", printable(node_.text)));
  const ParsedNumber<Number> number = parse(node_.text);
  if (!number.is_number) {
    const bool is_formula = node_.text.find_first_of("+*/^(") != node_.text.npos;
    return refuse(fmt::format("'{}' is not a number{}", printable(node_.text),
                              is_formula ? why_one_number() : std::string_view()));
  }
  if (!number.problem.empty())
    return number.advice.empty() ? refuse(number.problem) : refuse(number.problem, number.advice);
  if (!is_in_range(static_cast<double>(number.value))) return false;
  target = number.value;
  return true;
}

template <class Number, class Triple>
bool ValueReader::read_triple(Triple& target) {
  if (!is_something()) return false;
  Number number{};
  if (node_.kind == Kind::scalar && key_.one_for_all) {
    if (!read(number)) return false;
    for (int axis = 0; axis < 3; ++axis) target[axis] = number;
    return true;
  }
  if (node_.kind != Kind::list)
    return refuse(fmt::format("{} stands where three are wanted", name_of(node_.kind)));
  if (node_.items.size() != 3) return refuse(fmt::format("has {} entries, not three", node_.items.size()));
  bool good = true;
  for (int axis = 0; axis < 3; ++axis) {
    good = read_item(static_cast<std::size_t>(axis), number) && good;
    target[axis] = number;
  }
  return good;
}

template <class Number>
bool ValueReader::read_item(std::size_t index, Number& target) {
  Key item = key_;  // as it binds one entry of its list, for messages
  item.target = &target;
  item.absent_word = {};
  return ValueReader(node_.items[index], item, fmt::format("{}.{}", path_, index), problems_).read(target);
}

bool ValueReader::read(Interval& target) {
  if (!is_something()) return false;
  if (node_.kind != Kind::list)
    return refuse(fmt::format("{} stands where two are wanted", name_of(node_.kind)));
  if (node_.items.size() != 2) return refuse(fmt::format("has {} entries, not two", node_.items.size()));
  const bool low = read_item(0, target[0]), high = read_item(1, target[1]);
  return low && high;
}

bool ValueReader::read(std::vector<std::int64_t>& target) {
  if (!is_something()) return false;
  if (node_.kind != Kind::list)
    return refuse(fmt::format("{} stands where a list is wanted", name_of(node_.kind)));
  target.assign(node_.items.size(), 0);
  bool good = true;
  for (std::size_t i = 0; i < target.size(); ++i) good = read_item(i, target[i]) && good;
  return good;
}

bool ValueReader::read(std::vector<std::string>& target) {
  if (!is_something()) return false;
  if (node_.kind != Kind::list)
    return refuse(fmt::format("{} stands where a list is wanted", name_of(node_.kind)));
  target.assign(node_.items.size(), {});
  bool good = true;
  for (std::size_t i = 0; i < target.size(); ++i)
    good =
        ValueReader(node_.items[i], key_, fmt::format("{}.{}", path_, i), problems_).read(target[i]) && good;
  return good;
}

bool ValueReader::read(std::string& target) {
  if (!is_text()) return false;
  target = node_.text;
  return true;
}

bool ValueReader::read(Expression& target) {
  if (!is_text() || has_unit()) return false;
  const ParsedNumber<double> number = parse_real(node_.text);
  if (!number.problem.empty())
    return number.advice.empty() ? refuse(number.problem) : refuse(number.problem, number.advice);
  if (number.is_number) {
    target = Expression(number.value);
    return is_in_range(number.value);
  }
  try {
    target = compile_formula(node_.text, key_.variables);
  } catch (const FormulaError& error) {
    return refuse_formula(error);
  }
  const auto is_used = [&](char letter) { return target.uses(letter); };
  if (std::any_of(key_.variables.begin(), key_.variables.end(), is_used)) return true;
  const double value = target(0, 0, 0);
  if (!std::isfinite(value))
    return refuse(fmt::format("the formula '{}' gives {}", printable(node_.text), value));
  return is_in_range(value);
}

bool ValueReader::refuse_formula(const FormulaError& error) {
  // A long formula is shown from a little before the place of the error.
  constexpr std::size_t shown = 50, before = 20;
  const std::size_t at = std::min(error.position, node_.text.size());
  const std::size_t start = node_.text.size() <= shown || at < before ? 0 : at - before;
  const std::string_view excerpt = std::string_view(node_.text).substr(start, shown);
  const bool is_cut = start + excerpt.size() < node_.text.size();
  return refuse(
      fmt::format("{} at {} of the formula '{}{}{}'", printable(error.problem, 120),
                  at == node_.text.size() ? "the end" : fmt::format("character {}", at + 1),
                  start ? "..." : "", printable(excerpt), is_cut ? "..." : ""),
      fmt::format("it may use {}, pi, and functions such as sin, exp, min", letters_text(key_.variables)));
}

bool ValueReader::read(const Choice& choice) {
  if (!is_scalar()) return false;
  for (std::size_t i = 0; i < choice.words.size(); ++i) {
    if (choice.words[i] != node_.text) continue;
    choice.set(static_cast<int>(i));
    return true;
  }
  const std::vector<std::string_view> words(choice.words.begin(), choice.words.end());
  const auto nearest = nearest_word(node_.text, words);
  const std::string problem = fmt::format("unknown word '{}'", printable(node_.text));
  if (const auto absent = absent_feature(node_.text); !absent.empty())
    return refuse(problem, fmt::format("{}; use one of {}", absent, join(words)));
  if (nearest.empty()) return refuse(problem);
  return refuse(problem, fmt::format("did you mean '{}'? One of {}", nearest, join(words)));
}

}  // namespace

void read_value(const YamlNode& node, const Key& key, const std::string& path, Problems& problems) {
  ValueReader reader(node, key, path, problems);
  std::visit(Overloaded{[](const Section&) {}, [](const MapList&) {},
                        [&](const Choice& choice) { reader.read(choice); },
                        [&](const Written& written) { *written.node = node; },
                        [&](auto* target) { reader.read(*target); }},
             key.target);
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return "one value";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "";
}

}  // namespace isotherm
