#include "core/text.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>

namespace isotherm {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text + separator);
  for (std::string part; std::getline(rest, part, separator);) parts.push_back(part);
  return parts;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view marks = "/._-+=,:@%";
  const auto is_plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != marks.npos;
  };
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  const bool escapes = std::ranges::any_of(text, is_control);
  std::string word = escapes ? "$'" : "'";
  for (const char c : escapes ? escaped(text) : std::string(text))
    word += c != '\'' ? std::string(1, c) : escapes ? "\\'" : "'\\''";
  return word + "'";
}

std::string human_bytes(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (std::abs(bytes) < 1024) return fmt::format("{:.0f} B", bytes);
  std::size_t unit = 0;
  // 1023.995 would be rounded to 1024.00 of the smaller unit.
  for (; std::abs(bytes) >= (unit == 0 ? 1024 : 1023.995) && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.2f} {}", bytes, units[unit]);
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  if (seconds > 1e15) return "for ever";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (minutes < 60) return fmt::format("{} min {:02} s", minutes, whole % 60);
  if (hours < 24) return fmt::format("{} h {:02} min", hours, minutes % 60);
  return fmt::format("{} d {:02} h", days, hours % 24);
}

std::string signed_duration(double seconds) {
  return seconds < 0 ? "-" + human_duration(-seconds) : human_duration(seconds);
}

std::string human_rate(double points_per_second) {
  if (!std::isfinite(points_per_second) || points_per_second < 0) return "unknown";
  if (points_per_second >= 0.9995e9) return fmt::format("{:.3f} GPts/s", points_per_second / 1e9);
  if (points_per_second >= 0.9995e6) return fmt::format("{:.3g} MPts/s", points_per_second / 1e6);
  return fmt::format("{:.3g} kPts/s", points_per_second / 1e3);
}

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::ptrdiff_t sign = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > sign; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ' ');
  return digits;
}

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

namespace {

struct Unit {
  double size;
  const char* name;
};

// The largest unit that the value reaches, up to rounding; else the smallest.
template <std::size_t n>
const Unit& unit_of(const std::array<Unit, n>& descending, double value) {
  for (const Unit& unit : descending)
    if (std::abs(value) >= 0.9999995 * unit.size) return unit;
  return descending.back();
}

}  // namespace

std::string size_text(const std::array<double, 3>& metres) {
  static constexpr std::array units{Unit{1e3, "km"}, Unit{1, "m"}, Unit{1e-3, "mm"}, Unit{1e-6, "um"},
                                    Unit{1e-9, "nm"}};
  const Unit& unit = unit_of(units, *std::max_element(metres.begin(), metres.end()));
  return fmt::format("{:.6g} x {:.6g} x {:.6g} {}", metres[0] / unit.size, metres[1] / unit.size,
                     metres[2] / unit.size, unit.name);
}

std::string watts_text(double watts) {
  static constexpr std::array units{Unit{1e9, "GW"}, Unit{1e6, "MW"},  Unit{1e3, "kW"},
                                    Unit{1, "W"},    Unit{1e-3, "mW"}, Unit{1e-6, "uW"}};
  if (watts == 0) return "0 W";
  const Unit& unit = unit_of(units, watts);
  return fmt::format("{:.6g} {}", watts / unit.size, unit.name);
}

std::string extent_text(Int3 extent) { return fmt::format("{} x {} x {}", extent.x, extent.y, extent.z); }

std::string plain_decimal(double value, int decimals) {
  constexpr int most_decimals = 15;
  if (std::isfinite(value) && value != 0) {
    const int leading = static_cast<int>(std::floor(std::log10(std::abs(value))));  // -3 for 0.00123
    decimals = std::clamp(2 - leading, decimals, std::max(decimals, most_decimals));
  }
  return fmt::format("{:.{}f}", value, decimals);
}

std::string escaped(std::string_view name) {
  constexpr std::string_view marks = "\n\t\r\\", letters = "ntr\\";
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t mark = marks.find(c); mark != marks.npos) {
      text += {'\\', letters[mark]};
    } else {
      text += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
    }
  }
  return text;
}

std::string in_quotes(std::string_view name) { return fmt::format("'{}'", escaped(name)); }

std::string TextTable::text(int indent) const {
  // The number of columns of a UTF-8 text, found from the padding by fmt, which measures widths in columns.
  const auto display_width = [](std::string_view cell) {
    const std::size_t width = cell.size() + 1;
    return width - (fmt::formatted_size("{:<{}}", cell, width) - cell.size());
  };
  std::vector<std::size_t> widths(alignment.size(), 0);
  for (const std::vector<std::string>& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths.at(c) = std::max(widths[c], display_width(row[c]));
  std::string all;
  for (const std::vector<std::string>& row : rows) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < row.size(); ++c)
      line += alignment[c] == 'r' ? fmt::format("{:>{}}  ", row[c], widths[c])
                                  : fmt::format("{:<{}}  ", row[c], widths[c]);
    all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return all;
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace isotherm
