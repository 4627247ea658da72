// Text to numbers and back, and text for messages: always in the C locale.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace isotherm {

// Bytes of the UTF-8 character at the start of `text` (not empty), 0 if there is no valid character.
std::size_t utf8_length(std::string_view text);

// The characters of names that become parts of file names and column headings.
inline constexpr std::string_view name_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// Text for messages: shortened, with control characters escaped so that a deck cannot steer a terminal.
std::string printable(std::string_view text, std::size_t longest = 60);

// A number as the deck writes it. For text that was not meant as a number `is_number` is false. Text that was
// meant as one but is not accepted has a `problem`, "'010' has a leading zero (...)", and `advice`, "write
// 10", where that helps more than the range.
struct ParsedNumber {
  double value = 0;
  bool is_number = false;
  std::string problem{}, advice{};
};
ParsedNumber parse_number(std::string_view text, bool whole = false);  // `whole`: a whole number is required

// " (sin, cos and tan take arguments up to 2^30)" if this value of the formula is NaN and it has one of them.
std::string_view why_nan(double value, const std::string& formula);

std::string shortest(double value);  // reads back to the same bits; "1e12", "1e-6", "0.1"

// A word of `known` that `word` was probably meant to be; empty where none is near.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace isotherm
