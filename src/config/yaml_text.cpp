#include "config/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/text.hpp"

namespace isotherm {

std::string yaml_in_quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += {'\\', c};
    else if (byte < 0x20 || byte == 0x7F)
      quoted += fmt::format("\\x{:02X}", byte);
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string yaml_text(const std::string& text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/';
  };
  const auto is_plain = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  const bool plain = !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_plain);
  return plain && text != "null" && text != "Null" && text != "NULL" ? text : yaml_in_quotes(text);
}

namespace {

// Numbers stay without quotes, in which they would be text.
std::string scalar_text(const YamlNode& node) {
  const bool is_number = !node.quoted && parse_real(node.text).is_number;
  return is_number ? node.text : yaml_text(node.text);
}

}  // namespace

std::string yaml_text(const YamlNode& node) {
  using Kind = YamlNode::Kind;
  if (node.kind == Kind::null) return "null";
  if (node.kind == Kind::scalar) return scalar_text(node);
  std::string text;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) text += ", ";
    if (node.kind == Kind::map) text += yaml_text(node.keys[i].name) + ": ";
    text += yaml_text(node.items[i]);
  }
  return node.kind == Kind::map ? fmt::format("{{{}}}", text) : fmt::format("[{}]", text);
}

}  // namespace isotherm
