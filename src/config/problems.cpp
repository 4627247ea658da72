#include "config/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "config/text.hpp"

namespace isotherm {

Place Problems::place_of(const std::string& key) const {
  for (std::string around = key;;) {
    if (const auto known = places_.find(around); known != places_.end()) return known->second;
    const auto dot = around.rfind('.');
    if (dot == std::string::npos) return {};
    around.resize(dot);
  }
}

void Problems::add(const Place& place, const std::string& key, const std::string& problem) {
  lines_.push_back({place, line(place, key, problem)});
  failed_.insert(key);
}

void Problems::add_unknown_word(const std::string& key, const std::string& word,
                                const std::vector<std::string_view>& known) {
  const auto nearest = nearest_word(word, known);
  add(key, nearest.empty() ? fmt::format("unknown word '{}'; use one of {}", printable(word), join(known))
                           : fmt::format("unknown word '{}'; did you mean '{}'? One of {}", printable(word),
                                         nearest, join(known)));
}

void Problems::add_unavailable(const std::string& key, const std::string& problem) {
  add(key, problem);
  lines_.back().code = ExitCode::unavailable;
}

void Problems::warn(const std::string& key, const std::string& warning) {
  warnings_.push_back(line(place_of(key), key, warning));
}

bool Problems::sound(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    const std::string within = std::string(key) + ".";
    const auto failed = failed_.lower_bound(within);
    if (failed_.count(key) || (failed != failed_.end() && failed->rfind(within, 0) == 0)) return false;
    // A section that could not be read at all takes its keys with it.
    for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1))
      if (failed_.count(key.substr(0, dot))) return false;
  }
  return true;
}

std::string Problems::describe(const Place& place) const {
  if (place.argument > 0) return fmt::format("argument {}", place.argument);
  return fmt::format("{}:{}:{}", file_, place.line, place.column);
}

std::string Problems::line(const Place& place, const std::string& key, const std::string& text) const {
  if (key.empty()) return fmt::format("{}: {}", describe(place), text);
  return fmt::format("{}: {}: {}", describe(place), printable(key), text);
}

std::map<std::string, std::string> Problems::places() const {
  std::map<std::string, std::string> result;
  for (const auto& [key, place] : places_) result[key] = describe(place);
  return result;
}

void Problems::throw_if_any() const {
  if (lines_.empty()) return;
  std::vector<Line> sorted = lines_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Line& a, const Line& b) {
    return std::tie(a.place.argument, a.place.line, a.place.column) <
           std::tie(b.place.argument, b.place.line, b.place.column);
  });
  constexpr std::size_t most_lines = 100;
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), most_lines); ++i)
    text += (i ? "\n" : "") + sorted[i].text;
  if (sorted.size() > most_lines)
    text += fmt::format("\n{}: {} more problems; mend these first", file_, sorted.size() - most_lines);
  const bool deck_is_right = std::all_of(lines_.begin(), lines_.end(),
                                         [](const Line& line) { return line.code == ExitCode::unavailable; });
  throw Error(deck_is_right ? ExitCode::unavailable : ExitCode::deck, text);
}

}  // namespace isotherm
