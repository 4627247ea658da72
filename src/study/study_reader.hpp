// Reads what `study:` and `scaling:` say of keys and values: lists by key, lists of maps, counts of ranks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/problems.hpp"
#include "study/expansion.hpp"

namespace isotherm {

// Settings that go together, each with the name that the list gives it.
struct StudyChoice {
  std::string name;
  std::vector<StudySetting> settings;
};
using StudyAxis = std::vector<StudyChoice>;

// To tell values apart: 16 and 16.0 are one.
std::string canonical(const YamlNode& value);

enum class Repeated { refused, allowed };  // of a value in its list

// What is wrong is added to the problems. A key that one of them gives no other may give.
class StudyReader {
 public:
  explicit StudyReader(Problems& problems) : problems_(problems) {}

  // {key: [values]}: an axis a key.
  std::vector<StudyAxis> read_lists(const YamlNode& node, const std::string& path, Repeated repeated);

  // {key: [values]}, all lists as long: one axis.
  std::optional<StudyAxis> read_zip(const YamlNode& node, const std::string& path);

  std::optional<StudyAxis> read_cases(const YamlNode& node, const std::string& path);

  // Of `scaling:`; before all others, which may not say it too.
  StudyAxis read_counts(const ScalingConfig& scaling);
  // Each of the repeats is a case.
  StudyAxis read_runs(const ScalingConfig& scaling);

  // A list of maps, none empty.
  std::vector<const YamlNode*> read_maps(const YamlNode& node, const std::string& path);

  void add(const Place& place, const std::string& key, const std::string& problem);
  bool good() const { return good_; }
  // The varied keys, in the order of the deck.
  std::vector<std::string> varied() const { return order_; }

 private:
  struct Taken {
    std::string path;  // of its map: "study.matrix"
    Place place;
  };

  static YamlNode whole(std::int64_t number, const Place& place);

  static std::string example(const YamlNode& value);

  bool is_map(const YamlNode& node, const std::string& path, const char* example);

  void refuse_repeated(const YamlNode& values, const std::string& path);

  bool is_deck_key(const YamlKey& key, const std::string& path);
  void remember(const std::string& key);

  // Not given by another of matrix, zip and list too, nor as a part of what another gives.
  bool is_apart(const YamlKey& key, const std::string& at, const std::string& path);

  bool take_key(const YamlKey& key, const std::string& path);

  Problems& problems_;
  bool good_ = true;
  std::map<std::string, Taken> taken_;
  std::vector<std::string> order_;
};

}  // namespace isotherm
