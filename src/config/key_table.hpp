// The one key table: the keys of a deck, where their values are stored, and what they mean. The reader, the
// resolved deck, `isotherm init` and `isotherm schema` are walks over it; a key is documented nowhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// `study:` and `scaling:` of a deck: the values of keys in its cases. A run has neither.

enum class ScalingKind { strong, weak };
ISOTHERM_WORDS(ScalingKind, "strong", "weak");
// The counts of ranks on which each case of the study is run.
struct ScalingConfig {
  ScalingKind kind = ScalingKind::strong;
  std::vector<std::int64_t> ranks{}, gpus{};  // one of the two is given; gpus: as many ranks, each with a GPU
  int repeats = 1;

  const std::vector<std::int64_t>& counts() const { return gpus.empty() ? ranks : gpus; }
  bool is_given() const { return !counts().empty(); }
};

struct StudyConfig {
  // As written in the deck; isotherm study, in postprocess, interprets them.
  YamlNode matrix;   // {key.path: [values]}, all combinations of values
  YamlNode zip;      // {key.path: [values]}, the first values together, then the second, ...
  YamlNode list;     // [{name: word, key.path: value}]
  YamlNode exclude;  // [{key.path: value}]
  std::string name;  // pattern of case names; empty: all varied keys
  std::optional<int> limit;
  std::optional<int> ranks;  // per case
  std::string launcher;      // starts cases with more than one rank
  std::optional<int> ranks_per_node;
  std::string slurm_template;                // a file; empty: the program's own, inputs/study.sbatch
  std::vector<std::string> slurm_options{};  // of sbatch: "--partition=gpu"
  ScalingConfig scaling;                     // the section `scaling` of the deck
  std::vector<std::string> report{};         // columns of the final table
  std::string sort;                          // the column that orders it

  static constexpr int default_limit = 200;
  static constexpr const char* default_launcher = "mpirun -n {ranks}";
};

struct Key;
using Keys = std::vector<Key>;

// One word of a fixed list, bound to an enum, a bool or an axis: the n-th word is the value n.
struct Choice {
  std::span<const std::string_view> words;
  std::function<int()> get;
  std::function<void(int)> set;

  std::string_view word() const { return words[get()]; }
};

// A list of maps that have the same keys. Where `lone_key` is set, an entry that is no map stands for
// {lone_key: entry}. With `name` it is a map of names to entries.
struct MapList {
  std::string_view what;  // "shapes"
  std::string_view lone_key;
  std::function<std::size_t()> size;
  std::function<Keys(std::size_t)> entry;  // its keys, valid until the list grows
  std::function<Keys()> append;
  std::function<std::string&(std::size_t)> name{};  // of an entry
};

// A map with keys of its own. Where `word_key` is set, a word alone stands for {word_key: word}.
struct Section {
  Keys keys;
  std::string_view word_key{};
  bool is_optional = false;          // its required keys are required only if it is given
  std::function<bool()> is_given{};  // is an optional section given? Not set: yes
  std::optional<MapList> list{};     // a list of such maps may be given instead

  bool holds_list() const { return list && list->size() > 0; }
};

// A part of a study, stored as written; its keys are paths of other keys.
struct Written {
  enum class Form { lists_by_key, maps };
  YamlNode* node;
  Form form;
};

// One number, two, three, or a list of them, bound to a value of any type that holds so many.
struct Numbers {
  bool are_whole = false;
  std::size_t count = 1;                                // 0: a list of any length
  std::function<std::vector<double>()> get;             // empty: an optional value is left out
  std::function<void(const std::vector<double>&)> set;  // empty: leaves it out

  template <class T>
  Numbers(T* value) : are_whole(holds_whole(T{})), count(in(T{}).size()) {
    get = [value] { return in(*value); };
    set = [value](const std::vector<double>& numbers) { put(numbers, *value); };
  }
  template <class T>
  Numbers(std::optional<T>* value) : are_whole(holds_whole(T{})), count(in(T{}).size()) {
    get = [value] { return *value ? in(**value) : std::vector<double>(); };
    set = [value](const std::vector<double>& numbers) {
      value->reset();
      if (!numbers.empty()) put(numbers, value->emplace());
    };
  }

 private:
  template <class T>
  static constexpr bool holds_whole(const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      return std::is_integral_v<T>;
    else
      return std::is_integral_v<std::remove_cvref_t<decltype(value[0])>>;
  }
  template <class T>
  static std::vector<double> in(const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      return {static_cast<double>(value)};
    else if constexpr (std::is_same_v<T, Int3>)
      return in(std::array{value.x, value.y, value.z});
    else
      return {value.begin(), value.end()};
  }
  template <class T>
  static void put(const std::vector<double>& numbers, T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<T>(numbers[0]);  // the ranges in the key table fit T
    } else {
      if constexpr (requires { value.resize(0); }) value.resize(numbers.size());
      for (int i = 0; i < std::ssize(numbers); ++i) put({numbers[i]}, value[i]);
    }
  }
};

// Sizes of the cells along x, y and z: for each axis a number or zones, [[count, size], ...]; none if lengths
// are given.
struct CellSizes {
  GridConfig* grid;
};

// The variable that a key is bound to; its type says what may be written. Empty texts and lists are left out.
using Target =
    std::variant<Numbers, CellSizes, std::string*, std::vector<std::string>*, Expression*,
                 std::optional<Expression>*, std::array<Expression, 3>*, Choice, Section, MapList, Written>;

// The range of a number, or of every entry of a list of numbers.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::string_view unit{};  // "" for counts and ratios
  bool above_low = false;   // low itself is excluded
};

// The key applies only if `key`, in the same map, has one of `words`. Empty: always.
struct When {
  std::string_view key;
  std::vector<std::string_view> words;
};

// A word of an earlier version: rejected in a deck, translated in a resolved deck that a run has stored.
struct FormerWord {
  std::string_view was, is;
};
inline constexpr FormerWord former_kernels[] = {
    {"bulk_pipeline", "tma_pipeline"}, {"fused", "temporal"}, {"fused_openmp", "temporal_openmp"}};

// The traits of a key, apart from its name, target and meaning.
struct KeyTraits {
  Range range{};
  bool is_required = false;                  // where it applies
  std::string_view partner{};                // exactly one of this key and its partner must be given
  std::vector<std::string_view> needs{};     // if the key is given, one of these must be, too
  std::vector<std::string_view> excludes{};  // if the key is given, none of these may be (nor its partner)
  When when{};
  std::string_view example{};      // as YAML; for keys without a default
  std::string_view absent{};       // what a key that is left out means, if the target cannot say it
  std::string_view absent_word{};  // "auto": this word means that the key is left out
  std::string_view variables{};    // of formulas
  bool one_for_all = false;        // a triple that may be given as one number
  bool may_be_null = false;        // a triple that may be missing, or have nulls, as other keys determine it
  std::string_view pair = "[low, high]";  // what a pair of numbers means
  std::string_view former_name{};
  std::vector<FormerWord> former_words{};
};

struct Key : KeyTraits {
  std::string_view name;
  Target target;
  std::string_view doc;  // one line

  Key(std::string_view name_, Target target_, std::string_view doc_, KeyTraits traits = {})
      : KeyTraits(std::move(traits)), name(name_), target(std::move(target_)), doc(doc_) {
    if (is_one_of_two() && partner < name) excludes.push_back(partner);  // checked once
  }
  bool is_one_of_two() const { return !partner.empty(); }
  bool has_default() const { return !is_required && !is_one_of_two(); }
};

// The keys of a deck, bound to `config`, which must outlive them.
Keys describe(Config& config);
Keys describe(Config& config, StudyConfig& study);  // with those of a study

// Does this section make a deck one of several cases?
inline bool is_of_study(std::string_view section) { return section == "study" || section == "scaling"; }

const Key* find_key(const Keys& keys, std::string_view name);
std::vector<std::string_view> names_of(const Keys& keys);
std::string path_to(const std::string& section, std::string_view key);  // "problem.dt"; "grid" of the deck
// Whether `key` applies, by the current values of its neighbours in `keys`.
bool applies(const Key& key, const Keys& keys);

// For messages: "1 to 1e12", "above 0, at most 1", "" without a range.
std::string range_text(const Range& range);
// "a whole number from 1 to 1e12", "one of transient, steady", ...
std::string wanted_text(const Key& key);
std::string when_text(const When& when);  // "kind flux or convection"

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // clang 14 deduces no aggregates

}  // namespace isotherm
