// Reads a deck: the text becomes a tree, arguments `a.b.c=value` replace nodes of the tree, and one walk over
// the key table fills a Config from the tree.
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
  std::vector<std::string> rivals{};  // keys of the same map that it excludes, or that exclude it
};
KeyAtPath find_key_at(const std::string& path, const Keys& deck);
// The message for a name that is not in `keys`, those of section `before` ("solver."), with a suggestion.
std::string unknown_key(const Keys& deck, const Keys& keys, const std::string& before,
                        const std::string& name);

struct Override {
  int argument;       // its number on the command line
  std::string key;    // "initial.0.value"
  std::string value;  // YAML
};

// Without `numbers` arguments count from 1. Throws Error(command_line): no '=' or key, or a key after
// itself or a part of it.
std::vector<Override> split_overrides(const std::vector<std::string>& arguments,
                                      const std::vector<int>& numbers);

// Stores the value at the path of its key, and adds missing maps and lists. The reader checks the key itself.
// The value of an override also removes keys of the file that exclude its key.
void put_value(YamlNode& deck, const std::string& key, YamlNode value, Problems& problems);

// The tree of a deck with its overrides. Throws Error(deck) if `text` is no YAML; gathers other problems.
YamlNode read_tree(const std::string& text, const std::vector<std::string>& overrides,
                   const std::vector<int>& arguments, Problems& problems);

// Replaces keys and words of earlier versions by their new names, and adds a problem for each.
void rename_former(YamlNode& deck, Problems& problems);

// A table of values at times: `node` is a map, whose relative path starts at `folder`. Without `reads_file`,
// a file is not opened, and its values are unknown. Throws YamlError.
Expression read_table(const YamlNode& node, const std::string& folder, bool reads_file);
// Replaces each source whose power is a floor plan by one source for each block.
void lay_out_floorplans(YamlNode& sources, Problems& problems);
// Checks each key on its own; validate() checks keys against each other. Problems are gathered.
void read_config(const YamlNode& deck, Config& config, Problems& problems);
// Reads only `study` and `scaling`.
void read_study(const YamlNode& deck, StudyConfig& study, Problems& problems);
std::optional<YamlKey> section_of_study(const YamlNode& deck);  // the first that is not empty

// Reads and checks a deck of one run, without a device and a rank count. Throws as parse_deck() does.
Config settle_config(const YamlNode& deck, const std::string& path, const RegistryNames& registry,
                     Problems& problems);

// Checks that need more than one key, or the kernel registry.
void validate(Config& config, const RegistryNames& registry, Problems& problems);
// Sets the step limits of a body of several materials, and checks the time step against them, which
// validate() could not do. Throws Error(deck), and adds warnings.
void set_step_limits(Config& config, const StepLimits& limits);
// Parts of validate(), and shared checks: corners of a box, a known error of `what`, a kernel that can do it.
void check_materials(const Config& config, const RegistryNames& registry, Problems& problems);
void check_boundaries(const Config& config, const RegistryNames& registry, Problems& problems);
// Whether has_several_materials() may be called: it combines laws and materials, which must be readable.
bool body_is_sound(const Problems& problems);
void check_corners(const std::string& key, int axis, double from, double to, Problems& problems);
void check_error_is_known(const Config& config, const std::string& what, Problems& problems);
void check_kernel_can(const Config& config, const RegistryNames& registry, bool RegistryNames::Kernel::*can,
                      const std::string& what, Problems& problems);

// Stores the value in the key's target, or adds a problem. Not for maps and lists of maps.
void read_value(const YamlNode& node, const Key& key, const std::string& path, Problems& problems);

}  // namespace isotherm
