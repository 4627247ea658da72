// All that is wrong with a deck, gathered while it is read and checked, and thrown as one Error.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml_tree.hpp"
#include "core/error.hpp"

namespace isotherm {

// What decks of other programs have and these have not: said as such, where it would be taken for a slip.

// Of a key or a word: "radiation is not available in this version". Empty where it is nothing known.
std::string_view absent_feature(std::string_view word);

// Of a number with a unit behind it, "25 C" for a key in K: "write 298.15 (kelvin), without a unit". Empty
// where it is none.
std::string advice_on_unit(std::string_view text, std::string_view unit_of_key);

class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  // Where a key of the deck stands. A key that was never remembered is placed at what is around it.
  void remember(const std::string& key, const Place& place) { places_[key] = place; }
  bool given(const std::string& key) const { return places_.count(key) > 0; }
  Place place_of(const std::string& key) const;

  // `problem`: "problem (why); what to do". An empty key: the deck as a whole.
  void add(const Place& place, const std::string& key, const std::string& problem);
  void add(const std::string& key, const std::string& problem) { add(place_of(key), key, problem); }
  // `word` is none of those that the key may have.
  void add_unknown_word(const std::string& key, const std::string& word,
                        const std::vector<std::string_view>& known);
  // The deck is right, but this build or machine cannot do it: Error(unavailable) if nothing else is wrong.
  void add_unavailable(const std::string& key, const std::string& problem);
  void warn(const std::string& key, const std::string& warning);
  // Marks a key as unusable without a line of its own: it was misspelt, and that was reported.
  void mark_failed(const std::string& key) { failed_.insert(key); }

  // Whether none of the keys, nor anything within them, has a problem: what a later check may rely on.
  bool sound(std::initializer_list<std::string_view> keys) const;

  // Throws one Error with a line for each problem, those of the deck from top to bottom, then those of the
  // overrides.
  void throw_if_any() const;

  std::map<std::string, std::string> places() const;  // key -> "deck.yaml:12:8" or "argument 3"
  const std::map<std::string, Place>& remembered() const { return places_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Line {
    Place place;
    std::string text;
    ExitCode code = ExitCode::deck;
  };
  std::string describe(const Place& place) const;
  std::string line(const Place& place, const std::string& key, const std::string& text) const;

  std::string file_;
  std::vector<Line> lines_;
  std::vector<std::string> warnings_;
  std::map<std::string, Place> places_;
  std::set<std::string, std::less<>> failed_;
};

}  // namespace isotherm
