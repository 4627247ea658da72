// The errors of a deck, gathered while it is read and checked, and thrown as one Error.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/yaml_tree.hpp"
#include "core/error.hpp"

namespace isotherm {

// For a key or word that other programs have: "radiation is not available in this version"; else empty.
std::string_view absent_feature(std::string_view word);

// For a number with a unit, "25 C" for a key in K: "write 298.15 (kelvin), without a unit"; else empty.
std::string advice_on_unit(std::string_view text, std::string_view unit_of_key);

// Finds "a.b.c" in a map, else "a.b", else "a": the entry of a key, or of the innermost section around it.
template <class Places>
typename Places::const_iterator find_around(const Places& places, std::string key) {
  for (;;) {
    const auto found = places.find(key);
    const auto dot = key.rfind('.');
    if (found != places.end() || dot == key.npos) return found;
    key.resize(dot);
  }
}

// An error at a key of a deck that was read: its place, and the text.
template <class... Args>
Error deck_error(const Config& config, const std::string& key, fmt::format_string<Args...> text,
                 Args&&... args) {
  return {ExitCode::deck,
          fmt::format("{}: {}", config.at(key), fmt::format(text, std::forward<Args>(args)...))};
}

class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  explicit Problems(const Config& deck)  // for checks after the reader
      : file_(deck.file), places_(deck.places), sources_(deck.sources_of_deck) {}

  const std::string& file() const { return file_; }  // the deck

  // Are the tables that the deck names read? Not those of a stored deck that is only compared.
  bool reads_tables = true;

  // The place of a key in the deck. A key that was never remembered has the place of the section around it.
  void remember(const std::string& key, const Place& place) { places_[key] = place; }
  bool given(const std::string& key) const { return places_.count(key) > 0; }
  Place place_of(const std::string& key) const {
    const auto known = find_around(places_, key);
    return known == places_.end() ? Place{} : known->second;
  }

  // `problem`: "problem (why); what to do". An empty key: the deck as a whole.
  void add(const Place& place, const std::string& key, const std::string& problem);
  void add(const std::string& key, const std::string& problem) { add(place_of(key), key, problem); }
  template <class First, class... Args>
  void add(const Place& place, const std::string& key, fmt::format_string<First, Args...> problem,
           First&& first, Args&&... args) {
    add(place, key, fmt::format(problem, std::forward<First>(first), std::forward<Args>(args)...));
  }
  template <class First, class... Args>
  void add(const std::string& key, fmt::format_string<First, Args...> problem, First&& first,
           Args&&... args) {
    add(key, fmt::format(problem, std::forward<First>(first), std::forward<Args>(args)...));
  }
  // `word` is none of the words that the key may have.
  void add_unknown_word(const std::string& key, const std::string& word,
                        const std::vector<std::string_view>& known);
  // The deck is right, but this build or machine cannot do it: Error(unavailable) if nothing else is wrong.
  template <class... Args>
  void add_unavailable(const std::string& key, fmt::format_string<Args...> problem, Args&&... args) {
    add(key, fmt::format(problem, std::forward<Args>(args)...));
    lines_.back().is_unavailable = true;
  }
  template <class... Args>
  void warn(const Place& place, const std::string& key, fmt::format_string<Args...> warning, Args&&... args) {
    warnings_.push_back(line(place, key, fmt::format(warning, std::forward<Args>(args)...)));
  }
  template <class... Args>
  void warn(const std::string& key, fmt::format_string<Args...> warning, Args&&... args) {
    warn(place_of(key), key, warning, std::forward<Args>(args)...);
  }
  // Marks a key as unusable without adding a line, as its misspelt name was reported.
  void mark_failed(const std::string& key) { failed_.insert(key); }

  // Whether neither the keys nor anything within them has a problem, so that a later check may rely on them.
  bool sound(std::initializer_list<std::string_view> keys) const;

  bool empty() const { return lines_.empty(); }
  // Throws one Error with a line for each problem: the deck's from top to bottom, then the overrides'.
  void throw_if_any() const;

  // The entries of the deck from which the sources are read from now on: messages name the entries.
  void number_sources(SourcesOfDeck sources) { sources_ = std::move(sources); }
  const SourcesOfDeck& sources() const { return sources_; }
  const std::map<std::string, Place>& remembered() const { return places_; }
  // The file from which the value of a key is read.
  void remember_file(const std::string& key, const std::string& file) { files_[key] = file; }
  const std::map<std::string, std::string>& files() const { return files_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Line {
    Place place;
    std::string text;
    bool is_unavailable;  // in this build
  };
  std::string line(const Place& place, const std::string& key, const std::string& text) const;

  std::string file_;
  std::vector<Line> lines_;
  std::vector<std::string> warnings_;
  std::map<std::string, Place> places_{{"", {}}};  // the deck
  std::map<std::string, std::string> files_;
  SourcesOfDeck sources_;
  std::set<std::string, std::less<>> failed_;
};

}  // namespace isotherm
