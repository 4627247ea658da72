#include "config/changes.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "config/key_table.hpp"
#include "config/problems.hpp"
#include "config/reader.hpp"
#include "config/renamed.hpp"
#include "config/yaml_tree.hpp"

namespace isotherm {
namespace {

// Sections with all that is in them, and keys. dt is compared as the step that follows from these keys, by
// who goes on; end_time and steps only say where to end.
constexpr std::array<std::string_view, 11> may_change{"problem.end_time",
                                                      "problem.steps",
                                                      "problem.max_sweeps",
                                                      "problem.tolerance",
                                                      "solver",
                                                      "parallel",
                                                      "output",
                                                      "verify.expected_order",
                                                      "verify.order_tolerance",
                                                      "verify.tolerance",
                                                      "verify.order"};

bool is_allowed(std::string_view key) {
  return std::ranges::any_of(may_change, [&](std::string_view allowed) {
    return key == allowed || (key.starts_with(allowed) && key[allowed.size()] == '.');
  });
}

struct Value {
  std::string key, text;
};

void collect(const Keys& keys, const std::string& before, std::vector<Value>& values) {
  for (const Key& key : keys) {
    const std::string name = before + std::string(key.name);
    if (const auto* section = std::get_if<Section>(&key.target)) {
      collect(section->keys, name + ".", values);
    } else {
      values.push_back({name, applies(key, keys) ? value_yaml(key).value_or("nothing") : "nothing"});
    }
  }
}

std::vector<Value> values_of(Config config) {
  std::vector<Value> values;
  collect(describe(config), "", values);
  return values;
}

}  // namespace

std::vector<Change> changes(const Config& before, const Config& now) {
  const std::vector<Value> old_values = values_of(before),
                           new_values = values_of(now);  // one table, one order
  std::vector<Change> found;
  for (std::size_t i = 0; i < new_values.size(); ++i) {
    const auto& [key, text] = new_values[i];
    if (text != old_values[i].text) found.push_back({key, old_values[i].text, text, is_allowed(key)});
  }
  return found;
}

Config read_resolved_deck(const std::string& text, const std::string& place) {
  Problems problems(place);
  Config config;
  try {
    read_config(stored_deck(text), config, problems);
  } catch (const YamlError& error) {
    problems.add(error.place, "", error.problem);
  }
  problems.throw_if_any();
  return config;
}

}  // namespace isotherm
