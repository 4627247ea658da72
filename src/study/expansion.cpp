#include "study/expansion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "config/key_path.hpp"
#include "config/text.hpp"
#include "config/value.hpp"
#include "config/yaml_text.hpp"
#include "core/text.hpp"
#include "study/case_name.hpp"
#include "study/study_reader.hpp"

namespace isotherm {
namespace {

using Kind = YamlNode::Kind;

constexpr double most_cases = 100000;  // before any is excluded

const YamlNode* value_of(const std::vector<StudySetting>& settings, const std::string& key) {
  for (const StudySetting& setting : settings)
    if (setting.key == key) return &setting.value;
  return nullptr;
}

// The n-th of all combinations; the last axis changes fastest.
StudyChoice combine(const std::vector<StudyAxis>& axes, std::size_t number) {
  std::vector<std::size_t> index(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    index[a] = number % axes[a].size();
    number /= axes[a].size();
  }
  StudyChoice all;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const StudyChoice& one = axes[a][index[a]];
    if (!one.name.empty()) all.name = one.name;
    all.settings.insert(all.settings.end(), one.settings.begin(), one.settings.end());
  }
  return all;
}

// An entry of exclude, and how many cases it has left out.
struct Excluded {
  const YamlNode* entry;
  std::string path;
  int cases = 0;

  bool matches(const StudyChoice& choice) const {
    for (std::size_t k = 0; k < entry->keys.size(); ++k) {
      const std::string& key = entry->keys[k].name;
      if (key == "name") {
        if (entry->items[k].text != choice.name) return false;
        continue;
      }
      const YamlNode* value = value_of(choice.settings, key);
      if (!value || canonical(*value) != canonical(entry->items[k])) return false;
    }
    return true;
  }
};

std::vector<Excluded> read_excluded(const StudyConfig& study, StudyReader& reader) {
  std::vector<Excluded> all;
  std::vector<std::string> varied = reader.varied();
  if (study.list.kind != Kind::null) varied.emplace_back("name");
  for (const YamlNode* entry : reader.read_maps(study.exclude, "study.exclude")) {
    const std::string path = fmt::format("study.exclude.{}", all.size());
    for (const YamlKey& key : entry->keys)
      if (std::ranges::find(varied, key.name) == varied.end())
        reader.add(key.place, fmt::format("{}.{}", path, key.name),
                   fmt::format("does not vary; use one of {}", join({varied.begin(), varied.end()})));
    all.push_back({entry, path});
  }
  return all;
}

// Of `ranks` or `run` among the settings; it is taken out of them.
int take_count(const char* name, std::vector<StudySetting>& settings, int otherwise, Problems& problems) {
  const auto found = std::ranges::find(settings, name, &StudySetting::key);
  if (found == settings.end()) return otherwise;
  const std::string key_path = fmt::format("study.{}", name);
  int count = otherwise;
  const Key key{.name = name, .target = &count, .range = {1, 1e6}};
  if (problems.sound({key_path})) read_value(found->value, key, key_path, problems);  // once, of many cases
  settings.erase(found);
  return count;
}

// Runs before all others, so that what a machine does meanwhile meets all counts; counts behind all others.
std::vector<StudyAxis> read_axes(const StudyConfig& study, StudyReader& reader, Problems& problems) {
  const ScalingConfig& scaling = study.scaling;
  StudyAxis counts;
  if (scaling.is_given()) counts = reader.read_counts(scaling);
  std::vector<StudyAxis> axes = reader.read_lists(study.matrix, "study.matrix", Repeated::refused);
  if (auto zip = reader.read_zip(study.zip, "study.zip")) axes.push_back(std::move(*zip));
  if (auto list = reader.read_cases(study.list, "study.list")) axes.push_back(std::move(*list));
  if (!scaling.is_given()) return axes;
  if (study.ranks)
    reader.add(problems.place_of("study.ranks"), "study.ranks", "says what scaling says too; keep one");
  axes.push_back(std::move(counts));
  if (scaling.repeats > 1) axes.insert(axes.begin(), reader.read_runs(scaling));
  return axes;
}

// Which of the other combinations the n-th case is of.
int series_of(std::size_t number, const std::vector<StudyAxis>& axes, const ScalingConfig& scaling) {
  if (!scaling.is_given()) return 0;
  std::size_t others = 1;
  for (std::size_t a = scaling.repeats > 1 ? 1 : 0; a + 1 < axes.size(); ++a) others *= axes[a].size();
  return static_cast<int>(number / axes.back().size() % others);
}

void refuse_too_many(double cases, const StudyConfig& study, const char* remark, Problems& problems) {
  const int limit = study.limit.value_or(StudyConfig::default_limit);
  const bool beyond_all = cases > most_cases;
  problems.add("study.limit",
               beyond_all
                   ? fmt::format("{:.0f} cases{} are more than any study may have ({:.0f}); make "
                                 "several studies of it",
                                 cases, remark, most_cases)
                   : fmt::format("{:.0f} cases are more than {}; write --limit {:.0f} (or study.limit) "
                                 "to have them all, or exclude some",
                                 cases, limit, cases));
}

}  // namespace

bool is_of_case(const std::string& key) {
  return key == "ranks" || key == "run";
}

std::string value_text(const YamlNode& value) {
  if (value.kind == Kind::scalar) return value.text;
  const auto is_scalar = [](const YamlNode& item) { return item.kind == Kind::scalar; };
  if (value.kind != Kind::list || !std::ranges::all_of(value.items, is_scalar)) return yaml_text(value);
  std::vector<std::string_view> items;
  for (const YamlNode& item : value.items) items.push_back(item.text);
  return join(items, "x");
}

std::string value_text(const StudyCase& each, const std::string& key) {
  if (key == "ranks") return fmt::format("{}", each.ranks);
  if (key == "run") return fmt::format("{}", each.run);
  const YamlNode* value = value_of(each.settings, key);
  return value ? value_text(*value) : "default";
}

Expansion expand(const StudyConfig& study, Problems& problems) {
  StudyReader reader(problems);
  const std::vector<StudyAxis> axes = read_axes(study, reader, problems);
  std::vector<Excluded> excluded = read_excluded(study, reader);
  if (!study.is_given())
    reader.add(problems.place_of("study"), "study",
               "has no cases; add matrix, zip or list, or a section scaling");
  if (!reader.good()) return {};

  double count = 1;
  for (const StudyAxis& axis : axes) count *= static_cast<double>(axis.size());
  if (count > most_cases) {
    refuse_too_many(count, study, study.exclude.kind == Kind::null ? "" : ", before any is excluded,",
                    problems);
    return {};
  }
  Expansion result{reader.varied(), {}};
  std::vector<std::string> words;  // that the list gives the cases
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    StudyChoice choice = combine(axes, i);
    const auto left_out =
        std::ranges::find_if(excluded, [&](const Excluded& e) { return e.matches(choice); });
    if (left_out != excluded.end()) {
      ++left_out->cases;
      continue;
    }
    const int ranks = take_count("ranks", choice.settings, study.ranks.value_or(1), problems);
    const int run = take_count("run", choice.settings, 1, problems);
    words.push_back(choice.name);
    result.cases.push_back({"", ranks, std::move(choice.settings), run, series_of(i, axes, study.scaling)});
  }
  for (const Excluded& each : excluded)
    if (each.cases == 0) problems.warn(each.path, "leaves out no case that none before it does; remove it?");
  if (result.cases.empty()) {
    problems.add("study.exclude", fmt::format("leaves out all {:.0f} cases; remove an entry", count));
  } else if (std::ssize(result.cases) > study.limit.value_or(StudyConfig::default_limit)) {
    refuse_too_many(static_cast<double>(result.cases.size()), study, "", problems);
  } else {
    name_cases(study, words, result, problems);
  }
  return result;
}

}  // namespace isotherm
