#include "config/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace isotherm {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_number(std::string_view text) {
  return !text.empty() && (is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1])));
}
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}
// What from_chars reads whole, if it is finite.
std::optional<double> finite(std::string_view text) {
  double value;
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

using Real = ParsedNumber<double>;

// `body`, a number without its sign, is nothing that from_chars reads whole. Was a number meant?
Real explain(std::string_view text, std::string_view body, std::string_view sign) {
  const std::string word = lower(body);
  const std::string quoted = fmt::format("'{}'", printable(text));
  if (word == ".nan" || word == ".inf" || word == "nan" || word == "inf" || word == "infinity")
    return {.is_number = true, .problem = quoted + " is not a finite number"};
  if (!starts_number(body)) return {};
  if (word.size() > 1 && word[0] == '0' && (word[1] == 'x' || word[1] == 'o' || word[1] == 'b'))
    return {
        .is_number = true, .problem = quoted + " is not decimal", .advice = "write it as a decimal number"};
  std::vector<std::string> others(3, word);
  std::ranges::replace(others[0], 'd', 'e');
  std::ranges::replace(others[1], ',', '.');
  std::erase(others[2], '_');
  for (const std::string& better : others)
    if (better != word && finite(better))
      return {.is_number = true,
              .problem = quoted + " is not a number",
              .advice = fmt::format("write {}{}", sign, better)};
  return {};
}

// Octal for YAML 1.1 readers, decimal for YAML 1.2 readers.
bool has_leading_zero(std::string_view body) {
  return body.size() > 1 && body[0] == '0' && is_digit(body[1]);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond_unicode = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond_unicode ? 0 : length;
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
    if (control) {
      result += fmt::format("\\x{:02X}", byte);
      ++i;
      continue;
    }
    result += text.substr(i, length);
    i += length;
  }
  return result;
}

Real parse_real(std::string_view text) {
  std::string_view body = text, sign;
  if (!body.empty() && (body[0] == '-' || body[0] == '+')) {
    if (body[0] == '-') sign = "-";
    body.remove_prefix(1);
  }
  if (has_leading_zero(body) && finite(body)) {
    std::string_view rest = body.substr(std::min(body.find_first_not_of('0'), body.size() - 1));
    return {.is_number = true,
            .problem = fmt::format("'{}' has a leading zero (octal for some YAML readers)", printable(text)),
            .advice = fmt::format("write {}{}{}", sign, is_digit(rest[0]) ? "" : "0", printable(rest))};
  }
  double value = 0;
  const char* const end = body.data() + body.size();
  const auto result = std::from_chars(body.data(), end, value);
  if (!starts_number(body) || result.ptr != end) return explain(text, body, sign);
  if (result.ec == std::errc::result_out_of_range)
    return {.is_number = true, .problem = fmt::format("'{}' does not fit a 64-bit float", printable(text))};
  return {.value = sign.empty() ? value : -value, .is_number = true};
}

ParsedNumber<std::int64_t> parse_count(std::string_view text) {
  const Real real = parse_real(text);
  if (!real.is_number || !real.problem.empty())
    return {.is_number = real.is_number, .problem = real.problem, .advice = real.advice};
  std::int64_t value = 0;
  const std::string_view digits = text[0] == '+' ? text.substr(1) : text;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec == std::errc{} && result.ptr == end) return {.value = value, .is_number = true};
  if (real.value != std::floor(real.value))
    return {.is_number = true, .problem = fmt::format("'{}' is not a whole number", printable(text))};
  constexpr double largest = 9007199254740992.0;  // 2^53: whole numbers beyond it are not all doubles
  if (std::abs(real.value) > largest)
    return {.is_number = true, .problem = fmt::format("'{}' is too large", printable(text))};
  return {.value = static_cast<std::int64_t>(real.value), .is_number = true};
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

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr std::size_t longest = 40;
  if (word.empty() || word.size() > longest) return {};
  // Edits (insert, delete, change, swap two neighbours) between prefixes: optimal string alignment.
  const auto edits = [&](std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
      for (std::size_t j = 1; j <= b.size(); ++j) {
        d[i][j] =
            std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    return d[a.size()][b.size()];
  };
  const std::string lowered = lower(word);
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known)
    if (const std::size_t count = edits(lowered, candidate); count < fewest) {
      fewest = count;
      best = candidate;
    }
  return best;
}

std::string join(const std::vector<std::string_view>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace isotherm
