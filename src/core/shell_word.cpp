#include "core/shell_word.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace isotherm {

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

}  // namespace isotherm
