// The keywords of an enum: one table next to the enum, in the order of its values, for both directions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace isotherm {

template <class... Text>
constexpr std::array<std::string_view, sizeof...(Text)> words(Text... text) {
  return {text...};
}

template <class Enum>
inline constexpr auto words_of = words();

// After each enum that has keywords: ISOTHERM_WORDS(Norm, "max", "l2", "l1");
#define ISOTHERM_WORDS(Enum, ...) \
  template <>                     \
  inline constexpr auto words_of<Enum> = words(__VA_ARGS__)

template <class Enum>
requires(!words_of<Enum>.empty()) constexpr std::string_view word(Enum value) {
  return words_of<Enum>[static_cast<std::size_t>(value)];
}

template <class Enum>
requires(!words_of<Enum>.empty()) constexpr std::optional<Enum> from_word(std::string_view text) {
  for (std::size_t i = 0; i < words_of<Enum>.size(); ++i)
    if (words_of<Enum>[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace isotherm
