#include "study/case_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "config/text.hpp"

namespace isotherm {
namespace {

constexpr std::size_t longest_name = 120;  // with a suffix and a sweep a file name still has less than 255
// What a study or a run writes of its own.
constexpr std::array<std::string_view, 5> reserved{"study.csv", "study.json", "run.lock", "deck",
                                                   "deck.resolved"};

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '+';
}

// A pattern in parts: text, or the key that stood in braces.
struct Part {
  bool is_key;
  std::string text;
};

// Adds a problem where the pattern is wrong.
std::vector<Part> parts_of(const std::string& pattern, std::vector<std::string_view> keys,
                           Problems& problems) {
  keys.insert(keys.end(), {"name", "ranks"});
  std::vector<Part> parts;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t open = pattern.find_first_of("{}", at);
    if (open > at) parts.push_back({false, pattern.substr(at, open == pattern.npos ? open : open - at)});
    if (open == pattern.npos) break;
    const std::size_t close = pattern.find_first_of("{}", open + 1);
    if (pattern[open] == '}' || close == pattern.npos || pattern[close] == '{') {
      problems.add("study.name", fmt::format("a brace at character {} of '{}' has no partner; write "
                                             "{{key.path}}",
                                             open + 1, printable(pattern)));
      return {};
    }
    const std::string key = pattern.substr(open + 1, close - open - 1);
    if (std::ranges::find(keys, key) == keys.end()) {
      const auto nearest = nearest_word(key, keys);
      problems.add("study.name",
                   nearest.empty()
                       ? fmt::format("'{}' does not vary; use one of {}", printable(key), join(keys))
                       : fmt::format("'{}' does not vary; did you mean '{}'?", printable(key), nearest));
      return {};
    }
    parts.push_back({true, key});
    at = close + 1;
  }
  return parts;
}

// "kernel-naive_cells-64", and the list's name where it gives one for its keys.
std::string default_name(const StudyCase& each, const std::string& word,
                         const std::vector<std::string>& varied, const std::vector<std::string>& of_list) {
  std::string name;
  const auto add = [&](const std::string& text) { name += (name.empty() ? "" : "_") + text; };
  for (const std::string& key : varied) {
    const bool listed = std::ranges::find(of_list, key) != of_list.end();
    if (listed && !word.empty()) continue;
    add(key.substr(key.rfind('.') + 1) + "-" + value_text(each, key));
  }
  if (!word.empty()) add(word);
  return name;
}

// The keys that the list gives, of which its names speak.
std::vector<std::string> keys_of_list(const StudyConfig& study) {
  std::vector<std::string> keys;
  for (const YamlNode& entry : study.list.items)
    for (const YamlKey& key : entry.keys) keys.push_back(key.name);
  return keys;
}

std::string described(const StudyCase& each, std::size_t number, const std::string& word,
                      const std::vector<std::string>& varied) {
  std::vector<std::string> settings;
  if (!word.empty()) settings.push_back(fmt::format("name {}", printable(word)));
  for (const std::string& key : varied) settings.push_back(fmt::format("{} {}", key, value_text(each, key)));
  return fmt::format("case {} ({})", number + 1, join({settings.begin(), settings.end()}));
}

std::string why_not(const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.size() > longest_name) return fmt::format("has more than {} characters", longest_name);
  if (std::ranges::find(reserved, name) != reserved.end())
    return "is that of a file of the study or of a run";
  return {};
}

}  // namespace

std::string safe_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const char safe = is_safe(c) ? c : '-';
    if (safe == '-' && !is_safe(c) && (name.empty() || name.back() == '-')) continue;
    name += safe;
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  const std::size_t first = name.find_first_not_of(".-");  // no hidden folder, no option
  return first == name.npos ? "" : name.substr(first);
}

void name_cases(const StudyConfig& study, const std::vector<std::string>& words, Expansion& expansion,
                Problems& problems) {
  const std::vector<Part> parts =
      parts_of(study.name, {expansion.varied.begin(), expansion.varied.end()}, problems);
  if (!problems.sound({"study.name"})) return;
  const std::vector<std::string> of_list = keys_of_list(study);
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < expansion.cases.size(); ++i) {
    StudyCase& each = expansion.cases[i];
    std::string name;
    for (const Part& part : parts)
      name += !part.is_key ? part.text : part.text == "name" ? words[i] : value_text(each, part.text);
    each.name =
        safe_name(study.name.empty() ? default_name(each, words[i], expansion.varied, of_list) : name);
    if (const std::string why = why_not(each.name); !why.empty()) {
      problems.add("study.name",
                   fmt::format("the name '{}' of {} {}; write a pattern, such as \"case_{{{}}}\"",
                               printable(each.name), described(each, i, words[i], expansion.varied), why,
                               expansion.varied.empty() ? "name" : expansion.varied.front()));
      return;
    }
    const auto [other, is_new] = first.emplace(each.name, i);
    if (is_new) continue;
    problems.add(
        "study.name",
        fmt::format(
            "{} and {} have one name, '{}' (and would have one folder); add to the pattern what "
            "tells them apart",
            described(expansion.cases[other->second], other->second, words[other->second], expansion.varied),
            described(each, i, words[i], expansion.varied), each.name));
    return;
  }
}

}  // namespace isotherm
