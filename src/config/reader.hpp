// Reads a deck: its text becomes a tree, in which arguments `a.b.c=value` replace what stands there; the tree
// fills a Config by one walk over the key table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/deck.hpp"
#include "config/expression.hpp"
#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {

// Keys of a deck by their dotted paths: "solver.kernel", "sources.0.value".
struct KeyAtPath {
  std::string problem;  // "unknown key; did you mean 'solver.kernel'?"; empty where a deck has the key
  std::string unit;     // "W/(m K)"; empty for words, counts, ratios and maps
};
KeyAtPath find_key_at(const std::string& path);
// What may be meant by a name that is no key of `keys`, which are within `before`, "solver.".
std::string unknown_key(const Keys& deck, const Keys& keys, const std::string& before,
                        const std::string& name);

struct Override {
  int argument;       // its number on the command line
  std::string key;    // "initial.0.value"
  std::string value;  // YAML
};

// Counted from 1 where there are no `numbers`. Throws Error(command_line): no '=' or key, or a key twice.
std::vector<Override> split_overrides(const std::vector<std::string>& arguments,
                                      const std::vector<int>& numbers);

// Puts the value where its key says, making maps on the way. The reader checks whether the key exists.
void apply_override(YamlNode& deck, const Override& override, Problems& problems);
// The same with a value that is a tree with a place.
void put_value(YamlNode& deck, const std::string& key, YamlNode value, Problems& problems);

// The tree of a deck with its overrides. Throws Error(deck) for what is no YAML; other problems are gathered.
YamlNode read_tree(const std::string& text, const std::vector<std::string>& overrides,
                   const std::vector<int>& arguments, Problems& problems);

// Gives keys and words of earlier versions their new names, and says of each which it is now.
void rename_former(YamlNode& deck, Problems& problems);

// A table of values at times: `node` is a map, whose relative path starts at `folder`. Throws YamlError.
Expression read_table(const YamlNode& node, const std::string& folder);
// The blocks of floor plans, in place of the sources of a list whose power is one.
void lay_out_floorplans(YamlNode& sources, Problems& problems);
// Checks every key for itself; validate() checks what keys mean together. Problems are gathered.
void read_config(const YamlNode& deck, Config& config, Problems& problems);
// `study` and `scaling` alone.
void read_study(const YamlNode& deck, StudyConfig& study, Problems& problems);
std::optional<YamlKey> section_of_study(const YamlNode& deck);  // the first that is not empty

// A deck of one run, with all that is checked without a device and a rank count. Throws as parse_deck does.
Config settle_config(const YamlNode& deck, const std::string& path, const RegistryNames& registry,
                     Problems& problems);

// Checks that need more than one key, or the kernel registry.
void validate(Config& config, const RegistryNames& registry, Problems& problems);
// Sets the limits of a body of several materials, and checks by them what validate() could not: the time
// step. Throws Error(deck), and adds warnings.
void set_step_limits(Config& config, const StepLimits& limits);
// Its parts, and what they share: a box along an axis, a steady error of `what`, a kernel that can do `what`.
void check_materials(const Config& config, const RegistryNames& registry, Problems& problems);
void check_boundaries(const Config& config, const RegistryNames& registry, Problems& problems);
void check_corners(const std::string& key, int axis, double from, double to, Problems& problems);
void check_error_is_known(const Config& config, const std::string& what, Problems& problems);
void check_kernel_can(const Config& config, const RegistryNames& registry, bool RegistryNames::Kernel::*can,
                      const std::string& what, Problems& problems);

// Stores the value in the key's target, or adds a problem. Not for maps and lists of maps.
void read_value(const YamlNode& node, const Key& key, const std::string& path, Problems& problems);

}  // namespace isotherm
