#include "config/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>
#include <vector>

#include "core/text.hpp"

namespace isotherm {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_number(std::string_view text) {
  return !text.empty() && (is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1])));
}
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}
std::optional<double> finite(std::string_view text) {
  const auto number = read_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// Explains why `word`, which is `text` in lower case and without sign, is no number if it was meant as one.
ParsedNumber explain(const std::string& text, std::string_view sign, const std::string& word, bool whole) {
  const auto problem = [&](const std::string& what, const std::string& advice = "") {
    return ParsedNumber{.is_number = true, .problem = text + what, .advice = advice};
  };
  for (const std::string_view infinite : {".nan", ".inf", "nan", "inf", "infinity"})
    if (word == infinite) return problem(" is not a finite number");
  if (!starts_number(word)) return {};
  if (word.starts_with("0x") || word.starts_with("0o") || word.starts_with("0b"))
    return problem(" is not decimal", "write it as a decimal number");
  std::vector<std::string> others(3, word);
  std::ranges::replace(others[0], 'd', 'e');
  std::ranges::replace(others[1], ',', '.');
  std::erase(others[2], '_');
  static const std::regex thousands(R"([1-9]\d{0,2}(,\d{3})+)");
  if (std::regex_match(word, thousands)) {
    std::string digits = word;
    std::erase(digits, ',');
    const bool one_reading = whole || !finite(others[1]);
    return problem(
        " is not a number",
        fmt::format("write {}{}{}", sign, digits,
                    one_reading ? "" : fmt::format(", or {}{} if the comma is decimal", sign, others[1])));
  }
  for (const std::string& better : others)
    if (better != word && finite(better))
      return problem(" is not a number", fmt::format("write {}{}", sign, better));
  return {};
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};  // by number of bytes; less would be overlong
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const auto length = static_cast<std::size_t>(std::countl_one(first));
  if (length < 2 || length > 4 || length > text.size()) return 0;
  char32_t code = first & (0x7Fu >> length);
  for (const char c : text.substr(1, length - 1)) {
    if ((c & 0xC0) != 0x80) return 0;
    code = (code << 6) | (c & 0x3F);
  }
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= least[length] && code <= 0x10FFFF && !is_surrogate ? length : 0;
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++characters) {
    if (characters == longest) return result + "...";
    const std::size_t length = utf8_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls, U+0080 to U+009F, steer terminals too.
    const bool control = byte < 0x20 || byte == 0x7F || length == 0 ||
                         (byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    result += control ? fmt::format("\\x{:02X}", byte) : std::string(text.substr(i, length));
    i += control ? 1 : length;
  }
  return result;
}

ParsedNumber parse_number(std::string_view text, bool whole) {
  const std::string quoted = fmt::format("'{}'", printable(text));
  const std::string_view sign = text.starts_with('-') ? "-" : "";
  const std::string_view body = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  if (body.size() > 1 && body[0] == '0' && is_digit(body[1]) && finite(body)) {
    const std::string_view rest = body.substr(std::min(body.find_first_not_of('0'), body.size() - 1));
    return {.is_number = true,
            .problem = quoted + " has a leading zero (octal for some YAML readers)",  // decimal for YAML 1.2
            .advice = fmt::format("write {}{}{}", sign, is_digit(rest[0]) ? "" : "0", printable(rest))};
  }
  double value = 0;
  const char* const end = body.data() + body.size();
  const auto result = std::from_chars(body.data(), end, value);
  if (!starts_number(body) || result.ptr != end) return explain(quoted, sign, lower(body), whole);
  if (result.ec == std::errc::result_out_of_range)
    return {.is_number = true, .problem = quoted + " does not fit a 64-bit float"};
  return {.value = sign.empty() ? value : -value, .is_number = true};
}

std::string_view why_nan(double value, const std::string& formula) {
  static const std::regex form(R"(\b(sin|cos|tan)\s*\()");
  return std::isnan(value) && std::regex_search(formula, form)
             ? " (sin, cos and tan take arguments up to 2^30)"
             : "";
}

std::string shortest(double value) {
  std::string text = fmt::format("{}", value);
  // fmt writes 1e12 as 1000000000000 and 1e-6 as 1e-06.
  constexpr double reader_counts_digits_from = 1e6;
  if (std::abs(value) >= reader_counts_digits_from)
    if (const std::string power = fmt::format("{:g}", value); finite(power) == value) text = power;
  const auto e = text.find('e');
  if (e == text.npos) return text;
  std::string exponent = text.substr(e + 1);
  const std::string sign = exponent[0] == '-' ? "-" : "";
  exponent.erase(0, exponent.find_first_of("123456789"));
  return text.substr(0, e + 1) + sign + exponent;
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 40;
  if (word.empty() || word.size() > longest) return {};
  // Edits (insert, delete, change, swap two neighbours) between prefixes: optimal string alignment.
  const auto edits = [&](std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
      for (std::size_t j = 0; j <= b.size(); ++j) {
        std::size_t& fewest = d[i][j];
        fewest = std::max(i, j);  // where one prefix is empty
        if (i > 0 && j > 0)
          fewest = std::min(
              {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
          fewest = std::min(fewest, d[i - 2][j - 2] + 1);
      }
    return d[a.size()][b.size()];
  };
  const std::string lowered = lower(word);
  std::string_view best;
  // One edit turns any letter into any other.
  std::size_t fewest = word.size() == 1 ? 1 : std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known)
    if (const std::size_t count = edits(lowered, candidate); count < fewest) {
      fewest = count;
      best = candidate;
    }
  return best;
}

}  // namespace isotherm
