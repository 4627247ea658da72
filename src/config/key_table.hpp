// The one key table: what may stand in a deck, where it lands, and what is said about it. The reader, the
// resolved deck, `isotherm init` and `isotherm schema` are walks over it; a key is documented nowhere else.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.hpp"
#include "config/study_config.hpp"

namespace isotherm {

struct Key;
using Keys = std::vector<Key>;

// One word of a fixed list, bound to an enum, a bool or an axis: the n-th word is the value n.
struct Choice {
  std::span<const std::string_view> words;
  std::function<int()> get;
  std::function<void(int)> set;

  std::string_view word() const { return words[static_cast<std::size_t>(get())]; }
};

// A map with keys of its own. Where `word_key` is set, a word alone stands for {word_key: word}.
struct Section {
  Keys keys;
  std::string_view word_key;
  bool is_optional = false;  // what it requires is required only where it stands
};

// A list of maps that have the same keys. Where `lone_key` is set, an entry that is no map stands for
// {lone_key: entry}.
struct MapList {
  std::string_view what;  // "shapes"
  std::string_view lone_key;
  std::function<std::size_t()> size;
  std::function<Keys(std::size_t)> entry;  // bound to it as long as the list does not grow
  std::function<Keys()> append;
  std::function<void()> clear;
};

// A part of the deck as it was written, whose keys are paths of other keys: of a study.
struct Written {
  enum class Form { lists_by_key, maps };
  YamlNode* node;
  Form form;
};

// What the key's value is bound to; its type says what may be written. Optional ones may be left out.
using Target = std::variant<double*, std::optional<double>*, int*, std::optional<int>*, std::int64_t*,
                            std::optional<std::int64_t>*, std::string*, Int3*, std::optional<Int3>*, Vector3*,
                            std::optional<Vector3>*, std::optional<Interval>*, std::array<int, 3>*,
                            std::vector<std::int64_t>*, std::vector<std::string>*, Expression*,
                            std::optional<Expression>*, Choice, Section, MapList, Written>;

// Of numbers, and of every entry of a list of numbers.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above_low = false;  // low itself is excluded
};

// The key applies only where the key `key` beside it holds one of `words`. Empty: always.
struct When {
  std::string_view key;
  std::vector<std::string_view> words;
};

enum class Need {
  defaulted,   // may be left out
  required,    // where it applies
  one_of_two,  // exactly one of this key and its `partner`
};

struct Key {
  std::string_view name{};
  Target target{};
  std::string_view doc{};   // one line
  std::string_view unit{};  // "" for words, counts and ratios
  Range range{};
  Need need = Need::defaulted;
  When when{};
  std::string_view example{};      // as YAML; for keys without a default
  std::string_view absent{};       // what it means to leave the key out, where the target cannot say it
  std::string_view absent_word{};  // "auto": may be written for leaving the key out
  std::string_view partner{};      // of one_of_two
  std::string_view variables{};    // of formulas
  bool one_for_all = false;        // a triple that may be given as one number
};

// Bound to `config`, which must outlive them.
Keys describe(Config& config);
Keys describe(SlurmConfig& slurm);
Keys describe(ScalingConfig& scaling);
Keys describe(StudyConfig& study);
Keys describe(Config& config, StudyConfig& study);  // all that may stand in a deck

const Key* find_key(const Keys& keys, std::string_view name);
// Whether `key` applies as its neighbours in `keys` stand now.
bool applies(const Key& key, const Keys& keys);

// For people: "1 to 1e+12", "greater than 0, at most 1", "" without a range.
std::string range_text(const Range& range);
// "a whole number from 1 to 1e+12", "one of transient, steady", ...
std::string wanted_text(const Key& key);
std::string when_text(const When& when);             // "kind flux or convection"
std::string letters_text(std::string_view letters);  // "y, z, t"

// The value as YAML on one line; none where an optional target holds nothing. Of maps only the keys that
// apply.
std::optional<std::string> value_yaml(const Key& key);
std::string map_yaml(const Keys& keys);  // "{kind: flux, value: 10}"

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // clang 14 deduces no aggregates

}  // namespace isotherm
