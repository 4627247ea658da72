// Fills a Config from the tree of a deck, by one walk over the key table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// Every key is checked for itself; what keys mean together is the business of validate(). Problems are
// gathered, not thrown.
void read_config(const YamlNode& deck, Config& config, Problems& problems);

// What makes a deck one of several cases.
inline bool is_of_study(std::string_view section) {
  return section == "study" || section == "scaling";
}
// Only these sections; the rest is of the cases.
void read_study(const YamlNode& deck, StudyConfig& study, Problems& problems);

// The tree of a deck with its overrides. Throws Error(deck) for what is no YAML; what else is wrong with it
// is gathered.
YamlNode read_tree(const std::string& text, const std::vector<std::string>& overrides,
                   const std::vector<int>& arguments, Problems& problems);
std::optional<YamlKey> section_of_study(const YamlNode& deck);  // the first that is not empty

// A deck of one run, with all that is checked without a device and a rank count. Throws as parse_deck does.
struct KnownRows;
Config settle_config(const YamlNode& deck, const std::string& path, const KnownRows& rows,
                     Problems& problems);

// Checks that need more than one key, or the tables of rows.
void validate(Config& config, const KnownRows& rows, Problems& problems);
void check_time_step(const Config& config, Problems& problems);  // parts of it
void check_temperatures(const Config& config, Problems& problems);
void check_transport(const Config& config, const KnownRows& rows, Problems& problems);
void check_field_outputs(const Config& config, Problems& problems);

}  // namespace isotherm
