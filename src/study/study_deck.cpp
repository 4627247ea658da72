#include "study/study_deck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/overrides.hpp"
#include "config/reader.hpp"
#include "config/text.hpp"
#include "core/error.hpp"
#include "study/columns.hpp"
#include "study/scaled_case.hpp"
#include "study/slurm_script.hpp"

namespace isotherm {
namespace {

// What is wrong with which cases; a line of the deck is often wrong for all of them.
class CaseProblems {
 public:
  void add(const std::string& name, const Error& error) {
    if (error.code() == ExitCode::deck) code_ = ExitCode::deck;
    const std::string text = error.what();
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      add_line(name, text.substr(start, end - start));
      start = end + 1;
    }
  }

  void throw_if_any(std::size_t cases) const {
    if (lines_.empty()) return;
    std::string text;
    for (const Line& line : lines_) text += (text.empty() ? "" : "\n") + line.text + remark(line, cases);
    throw Error(code_, text);
  }

 private:
  struct Line {
    std::string text;
    std::vector<std::string> names;
  };

  void add_line(const std::string& name, const std::string& text) {
    const auto known = std::ranges::find(lines_, text, &Line::text);
    if (known != lines_.end()) {
      known->names.push_back(name);
    } else {
      lines_.push_back({text, {name}});
    }
  }

  static std::string remark(const Line& line, std::size_t cases) {
    constexpr std::size_t shown = 3;
    const std::size_t count = line.names.size();
    if (count == cases && cases > 1) return {};
    std::vector<std::string_view> names(
        line.names.begin(), line.names.begin() + static_cast<std::ptrdiff_t>(std::min(shown, count)));
    const std::string more = count > shown ? fmt::format(" and {} more", count - shown) : "";
    return fmt::format(" [case{} {}{}]", count == 1 ? "" : "s", join(names), more);
  }

  std::vector<Line> lines_;
  ExitCode code_ = ExitCode::unavailable;
};

// An override of what varies would change no case.
void refuse_override_of_varied(const std::vector<std::string>& overrides, const std::vector<int>& arguments,
                               const std::vector<std::string>& varied, Problems& problems) {
  for (const Override& override : split_overrides(overrides, arguments))
    for (const std::string& key : varied)
      if (override.key == key || override.key.starts_with(key + "."))
        problems.add(
            Place{.argument = override.argument}, override.key,
            "varies in this study (the value would change no case); leave it out, or override study.matrix");
}

YamlNode without_study(YamlNode deck) {
  for (std::size_t i = deck.keys.size(); i-- > 0;) {
    if (!is_of_study(deck.keys[i].name)) continue;
    deck.keys.erase(deck.keys.begin() + static_cast<std::ptrdiff_t>(i));
    deck.items.erase(deck.items.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return deck;
}

// What a deck says of its cases, and where `scaling:` says it.
struct CaseReader {
  const YamlNode base;  // without study and scaling
  const ScalingConfig& scaling;
  const Place place;
  const std::string& path;
  const KnownRows& rows;

  Config read(const StudyCase& each) const {
    Problems problems(path);
    problems.remember("", {});
    YamlNode deck = base;
    for (const StudySetting& setting : each.settings) put_value(deck, setting.key, setting.value, problems);
    const Config config = settle_config(deck, path, rows, problems);
    Problems again(path);
    again.remember("", {});
    if (!scale_case(deck, scaling, config, each.ranks, place, again)) return config;
    return settle_config(deck, path, rows, again);
  }
};

// What the reader cannot know of `scaling:` and what goes with it.
void check_scaling(const StudyConfig& study, const YamlNode& tree, Problems& problems) {
  const bool stands =
      std::ranges::any_of(tree.keys, [](const YamlKey& key) { return key.name == "scaling"; });
  const std::string key = problems.given("scaling.gpus") ? "scaling.gpus" : "scaling.ranks";
  if (stands && problems.given(key) && problems.sound({key}) && !study.scaling.is_given())
    problems.add(key, "the list is empty (it would leave no case); write [1, 2, 4]");
  if (study.launcher.find("{nodes}") != std::string::npos && !study.ranks_per_node)
    problems.add("study.launcher",
                 "has {nodes} (which follow from the ranks of each); add ranks_per_node: 8");
}

}  // namespace

bool is_study(const std::string& text, const std::vector<std::string>& overrides) {
  try {
    Problems problems("");
    return section_of_study(read_tree(text, overrides, {}, problems)).has_value();
  } catch (const Error&) {
    return false;
  }
}

StudyDeck parse_study(const std::string& text, const std::string& path,
                      const std::vector<std::string>& overrides, const KnownRows& rows,
                      const std::vector<int>& arguments, std::optional<int> limit) {
  Problems problems(path);
  const YamlNode tree = read_tree(text, overrides, arguments, problems);
  StudyDeck deck;
  if (!section_of_study(tree))
    problems.add(
        "study",
        "is missing (the deck is of one run); add study: {matrix: {key.path: [values]}}, or scaling: "
        "{kind: strong, ranks: [1, 2]}, or use isotherm run");
  problems.throw_if_any();
  read_study(tree, deck.study, problems);
  check_scaling(deck.study, tree, problems);
  problems.throw_if_any();
  if (limit) deck.study.limit = limit;
  Expansion expansion = expand(deck.study, problems);
  check_columns(deck.study, expansion.varied, problems);
  check_slurm(deck.study.slurm, problems);
  refuse_override_of_varied(overrides, arguments, expansion.varied, problems);
  problems.throw_if_any();
  deck.varied = std::move(expansion.varied);
  deck.warnings = problems.warnings();

  const CaseReader reader{without_study(tree), deck.study.scaling, problems.place_of("scaling"), path, rows};
  CaseProblems wrong;
  for (StudyCase& each : expansion.cases) {
    try {
      Config config = reader.read(each);
      deck.directory = config.output.directory;
      deck.overwrite = config.output.overwrite;
      for (const std::string& warning : config.warnings)
        if (std::ranges::find(deck.warnings, warning) == deck.warnings.end())
          deck.warnings.push_back(warning);
      config.name = each.name;
      config.output.directory = (std::filesystem::path(deck.directory) / each.name).string();
      config.output.overwrite = false;
      std::string resolved = to_yaml(config);
      deck.cases.push_back({std::move(each), std::move(config), std::move(resolved)});
    } catch (const Error& error) {
      wrong.add(each.name, error);
    }
  }
  wrong.throw_if_any(expansion.cases.size());
  return deck;
}

void keep_case(StudyDeck& deck, const std::string& name) {
  std::vector<std::string_view> known;
  for (const DeckCase& each : deck.cases) known.push_back(each.study.name);
  if (std::ranges::find(known, name) == known.end()) {
    const std::string_view nearest = nearest_word(name, known);
    throw Error(ExitCode::command_line,
                fmt::format("--case {}: the study has no case of this name; {}", printable(name),
                            nearest.empty() ? "see isotherm study --dry-run"
                                            : fmt::format("did you mean '{}'?", nearest)));
  }
  std::erase_if(deck.cases, [&](const DeckCase& each) { return each.study.name != name; });
}

}  // namespace isotherm
