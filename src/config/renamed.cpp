#include "config/renamed.hpp"

#include <fmt/format.h>

#include <functional>
#include <string_view>

namespace isotherm {
namespace {

struct RenamedKey {
  std::string_view section, was, is;
};
constexpr RenamedKey keys[] = {
    {"solver", "policy", "tile"},
    {"solver", "depth", "halo_width"},
    {"solver", "graph", "cuda_graph"},
};

struct RenamedWord {
  std::string_view section, key, was, is;
};
constexpr RenamedWord words[] = {
    {"problem", "check", "lagged", "asynchronous"},          {"parallel", "overlap", "in_sweep", "in_kernel"},
    {"solver", "kernel", "bulk_pipeline", "tma_pipeline"},   {"solver", "kernel", "fused", "temporal"},
    {"solver", "kernel", "fused_openmp", "temporal_openmp"},
};

using Report = std::function<void(const Place&, const std::string& key, const std::string& problem)>;

void rename_in(std::string_view section, YamlNode& map, const Report& report) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    YamlKey& key = map.keys[i];
    for (const RenamedKey& renamed : keys) {
      if (renamed.section != section || renamed.was != key.name) continue;
      report(key.place, fmt::format("{}.{}", section, key.name), fmt::format("is called {} now", renamed.is));
      key.name = renamed.is;
      break;
    }
    YamlNode& value = map.items[i];
    for (const RenamedWord& renamed : words) {
      if (renamed.section != section || renamed.key != key.name || value.kind != YamlNode::Kind::scalar ||
          renamed.was != value.text)
        continue;
      report(value.place, fmt::format("{}.{}", section, key.name),
             fmt::format("'{}' is called {} now", renamed.was, renamed.is));
      value.text = renamed.is;
      break;
    }
  }
}

void rename(YamlNode& deck, const Report& report) {
  for (std::size_t i = 0; i < deck.keys.size(); ++i) rename_in(deck.keys[i].name, deck.items[i], report);
}

}  // namespace

void refuse_old_words(YamlNode& deck, Problems& problems) {
  rename(deck, [&](const Place& place, const std::string& key, const std::string& problem) {
    problems.add(place, key, problem);
  });
}

YamlNode stored_deck(const std::string& text) {
  YamlNode deck = parse_yaml(text);
  rename(deck, [](const auto&...) {});
  return deck;
}

std::string stored_deck_text(const std::string& text) {
  bool has_old_words = false;
  YamlNode deck = parse_yaml(text);
  rename(deck, [&](const auto&...) { has_old_words = true; });
  return has_old_words ? yaml_text(deck) + "\n" : text;
}

}  // namespace isotherm
