// Fills a Config from the tree of a deck, by one walk over the key table.
#pragma once

#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// Every key is checked for itself; what keys mean together is the business of validate(). Problems are
// gathered, not thrown.
void read_config(const YamlNode& deck, Config& config, Problems& problems);

// Checks that need more than one key, or the tables of rows.
struct KnownRows;
void validate(Config& config, const KnownRows& rows, Problems& problems);
void check_transport(const Config& config, const KnownRows& rows, Problems& problems);  // a part of it
void check_field_outputs(const Config& config, Problems& problems);                     // another

}  // namespace isotherm
