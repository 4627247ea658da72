// Numbers and names as text for people. Every number is printed as in the C locale, whatever LC_ALL says: fmt
// uses no locale.
#pragma once

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/box.hpp"
#include "core/error.hpp"

namespace isotherm {

// An Error, or a CollectiveError, with a formatted message.
template <class Kind = Error, class... Args>
Kind error_of(ExitCode code, fmt::format_string<Args...> message, Args&&... args) {
  return {code, fmt::format(message, std::forward<Args>(args)...)};
}

// Quotes the text so that bash reads it as one word. Control characters are escaped: none reaches a terminal.
std::string shell_word(std::string_view text);

std::string human_bytes(double bytes);        // "17 B", "1.50 KiB", "2.00 GiB"
std::string human_duration(double seconds);   // "812 ms", "3.21 s", "2 min 05 s", "1 h 02 min", "3 d 04 h"
std::string signed_duration(double seconds);  // of a difference: "-12.3 us"
std::string human_rate(double points_per_second);                 // "1.234 GPts/s"
std::string grouped(std::int64_t number);                         // "16 777 216"
std::string counted(std::int64_t number, std::string_view noun);  // "1 rank", "2048 ranks"
std::string size_text(const std::array<double, 3>& metres);       // "20 x 20 x 4 mm"
std::string watts_text(double watts);                             // "16 W", "2.5 kW"
std::string extent_text(Int3 extent);                             // "256 x 128 x 64"
// Plain decimal, never an exponent: `decimals` digits after the point, and more for small numbers, which keep
// at least three digits. "nan", "inf", "-inf" stay words.
std::string plain_decimal(double value, int decimals);

// For names that come from outside: control characters become \n, \t, \x1b, and a backslash becomes two.
// Printable text and UTF-8 stay. No name can forge a line of a log or move a terminal's cursor.
std::string escaped(std::string_view name);
std::string in_quotes(std::string_view name);  // 'escaped'

// Reads a number that is the whole text; none if the text is no number, or if the number does not fit.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// The parts between the separators: "", "a" of ":a"; "" of "".
std::vector<std::string> split(const std::string& text, char separator);

// Columns padded to their widest cell, two spaces between, none at a line's end; `alignment`: 'l' or 'r'.
struct TextTable {
  std::string alignment;
  std::vector<std::vector<std::string>> rows;  // the first is the head; last cells may be missing
  std::string text(int indent = 0) const;
};

std::string utc_now();  // "2026-01-31T12:34:56Z"

}  // namespace isotherm
