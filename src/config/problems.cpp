#include "config/problems.hpp"

#include <algorithm>
#include <charconv>

#include "config/text.hpp"

namespace isotherm {

namespace {

// A number n of this unit is (n + before) * times / by of the unit `of_keys`.
struct Unit {
  std::string_view word, of_keys;
  double before = 0, times = 1, by = 1;
};
constexpr Unit units[] = {
    {"K", "K"},
    {"C", "K", 273.15},
    {"\u00b0C", "K", 273.15},
    {"degC", "K", 273.15},
    {"F", "K", 459.67, 5, 9},
    {"\u00b0F", "K", 459.67, 5, 9},
    {"m", "m"},
    {"cm", "m", 0, 1, 100},
    {"mm", "m", 0, 1, 1e3},
    {"um", "m", 0, 1, 1e6},
    {"\u00b5m", "m", 0, 1, 1e6},
    {"nm", "m", 0, 1, 1e9},
    {"km", "m", 0, 1e3},
    {"s", "s"},
    {"ms", "s", 0, 1, 1e3},
    {"us", "s", 0, 1, 1e6},
    {"ns", "s", 0, 1, 1e9},
    {"min", "s", 0, 60},
    {"h", "s", 0, 3600},
};

std::string_view name_of(std::string_view unit) {
  return unit == "K" ? "kelvin" : unit == "m" ? "metres" : unit == "s" ? "seconds" : unit;
}

std::string without_spaces(std::string_view text) {
  std::string all(text);
  std::erase(all, ' ');
  return all;
}

// The first unit, "K" of "K or W/m^2" and of "K"; otherwise the whole text.
std::string_view first_of(std::string_view unit) {
  const std::string_view first = unit.substr(0, unit.find(' '));
  return name_of(first) != first ? first : unit;
}

}  // namespace

std::string_view absent_feature(std::string_view word) {
  if (word == "radiation" || word == "emissivity") return "radiation is not available in this version";
  return {};
}

std::string advice_on_unit(std::string_view text, std::string_view unit_of_key) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string rest = without_spaces({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  if (problem != std::errc() || rest.empty() || unit_of_key.empty()) return {};
  const std::string_view wanted = first_of(unit_of_key);
  const auto unit = std::ranges::find(units, rest, &Unit::word);
  const bool is_simple = unit != std::end(units);
  const bool is_compound = rest.starts_with("W/") || rest.starts_with("J/") || rest.starts_with("kg/");
  if (!is_simple && !is_compound && rest != without_spaces(wanted)) return {};
  if (is_simple && unit->of_keys == wanted)
    number = (number + unit->before) * unit->times / unit->by;
  else if (rest != without_spaces(wanted))
    return fmt::format("write a number of {}, without a unit", name_of(wanted));
  return fmt::format("write {:.10g} ({}), without a unit", number, name_of(wanted));
}

void Problems::add(const Place& place, const std::string& key, const std::string& problem) {
  lines_.push_back({place, line(place, key, problem), false});
  failed_.insert(key);
}

void Problems::add_unknown_word(const std::string& key, const std::string& word,
                                const std::vector<std::string_view>& known) {
  const auto absent = absent_feature(word), nearest = nearest_word(word, known);
  const std::string advice = !absent.empty()   ? fmt::format("{}; use one", absent)
                             : nearest.empty() ? "use one"
                                               : fmt::format("did you mean '{}'? One", nearest);
  add(key, "unknown value '{}'; {} of {}", printable(word), advice, fmt::join(known, ", "));
}

bool Problems::sound(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    const std::string within = std::string(key) + ".";
    const auto failed = failed_.lower_bound(within);
    if (failed != failed_.end() && failed->starts_with(within)) return false;
    // The keys of a section that could not be read at all are not sound either.
    if (find_around(failed_, std::string(key)) != failed_.end()) return false;
  }
  return true;
}

std::string Problems::line(const Place& place, const std::string& key, const std::string& text) const {
  const std::string name = key.empty() ? "" : printable(deck_key(key, sources_)) + ": ";
  return fmt::format("{}: {}{}", place.text(file_), name, text);
}

void Problems::throw_if_any() const {
  if (lines_.empty()) return;
  std::vector<Line> sorted = lines_;
  std::ranges::stable_sort(sorted, {}, &Line::place);
  constexpr std::size_t most_lines = 100;
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), most_lines); ++i) text += sorted[i].text + "\n";
  if (sorted.size() > most_lines)
    text += fmt::format("{}: {} more problems; mend these first\n", file_, sorted.size() - most_lines);
  text.pop_back();
  const bool deck_is_right = std::ranges::all_of(lines_, &Line::is_unavailable);
  throw Error(deck_is_right ? ExitCode::unavailable : ExitCode::deck, text);
}

}  // namespace isotherm
