// What the files of the key table share: how a key is bound, and ranges that stand in several sections.
#pragma once

#include <algorithm>

#include "config/key_table.hpp"

namespace isotherm {
namespace key_makers {

inline constexpr std::string_view axes[] = {"x", "y", "z"};
inline constexpr Range positions{-1e12, 1e12}, times{1e-18, 1e18}, counts{1, 1e15};

// `Value`: an enum that numbers its words from 0, a bool, or an int.
template <class Value>
Choice choice(Value& value, std::span<const std::string_view> words) {
  return {words, [&value] { return static_cast<int>(value); },
          [&value](int index) { value = static_cast<Value>(index); }};
}

template <class Enum>
Choice choice(Enum& value) {
  return choice(value, words_of<Enum>);
}

// gpu is another word for cuda.
inline Choice device_choice(DeviceChoice& device) {
  static constexpr std::string_view words[] = {"auto", "cpu", "cuda", "gpu"};
  Choice made = choice(device, words);
  made.set = [&device](int index) {
    device = std::min(static_cast<DeviceChoice>(index), DeviceChoice::cuda);
  };
  return made;
}

// `describe` gives the keys of one entry.
template <class Entry>
MapList list_of(std::string_view what, std::vector<Entry>& entries, Keys (*describe)(Entry&),
                std::string_view lone_key = {}) {
  return {what,
          lone_key,
          [&entries] { return entries.size(); },
          [&entries, describe](std::size_t i) { return describe(entries[i]); },
          [&entries, describe] { return describe(entries.emplace_back()); },
          [&entries] { entries.clear(); }};
}

}  // namespace key_makers

// Keys of the output that stand in key_table_parts.cpp.
Keys describe_slice(SliceConfig& slice);
Keys describe(RegionConfig& region);
Keys describe(CoarseConfig& coarse);
Keys describe(ProbesConfig& probes);

}  // namespace isotherm
