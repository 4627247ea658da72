// The only file that uses yaml-cpp. It handles the events of the parser, as YAML::Load does internally. So
// limits apply while the text is read, and tags, aliases and further documents are detected, which Load
// ignores. One document is parsed, once; nothing loops over documents (YAML::LoadAll never ends on ",:").
#include "config/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "config/text.hpp"

namespace isotherm {

std::string Place::text(const std::string& deck) const {
  return argument > 0 ? fmt::format("argument {}", argument) : fmt::format("{}:{}:{}", deck, line, column);
}

const YamlKey* YamlNode::find_key(std::string_view name) const {
  const auto at = std::ranges::find(keys, name, &YamlKey::name);
  return at == keys.end() ? nullptr : &*at;
}

const YamlNode* YamlNode::find(std::string_view name) const {
  const YamlKey* const key = find_key(name);
  return key ? &items[key - keys.data()] : nullptr;
}

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
  constexpr std::string_view of_numbers = "0123456789.-";
  constexpr std::string_view of_words = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/0123456789.-";
  const bool is_plain = !text.empty() && of_numbers.find(text[0]) == of_numbers.npos &&
                        text.find_first_not_of(of_words) == text.npos;
  return is_plain && text != "null" && text != "Null" && text != "NULL" ? text : yaml_in_quotes(text);
}

std::string yaml_text(const YamlNode& node) {
  using Kind = YamlNode::Kind;
  if (node.kind == Kind::null) return "null";
  if (node.kind == Kind::scalar)  // numbers stay without quotes, in which they would be text
    return !node.quoted && parse_number(node.text).is_number ? node.text : yaml_text(node.text);
  std::string text;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) text += ", ";
    if (node.kind == Kind::map) text += yaml_text(node.keys[i].name) + ": ";
    text += yaml_text(node.items[i]);
  }
  return node.kind == Kind::map ? fmt::format("{{{}}}", text) : fmt::format("[{}]", text);
}

void erase_keys(YamlNode& map, const std::function<bool(std::string_view)>& unwanted) {
  for (std::size_t i = map.keys.size(); i-- > 0;) {
    if (!unwanted(map.keys[i].name)) continue;
    map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(i));
    map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

namespace {

Place place_of(const YAML::Mark& mark) {
  return mark.is_null() ? Place{} : Place{0, mark.line + 1, mark.column + 1};
}

std::size_t count_nodes(const YamlNode& node) {
  std::size_t count = 1;
  for (const YamlNode& item : node.items) count += count_nodes(item);
  return count;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true))
      throw YamlError{
          place_of(mark),
          "a second document starts here (a deck is one document); remove the '---' or what follows the end"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // The mark is where the parser noticed that the value is missing, perhaps lines below its key.
    const bool is_value = !open_.empty() && open_.back().node.keys.size() > open_.back().node.items.size();
    add({.place = is_value ? open_.back().node.keys.back().place : place_of(mark)}, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    if (value.find('\0') != value.npos)  // the system would cut a path there
      throw YamlError{place_of(mark), "the text has a NUL character (\\0); remove it"};
    add({.kind = YamlNode::Kind::scalar, .place = place_of(mark), .text = value, .quoted = tag == "!"},
        anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto anchored = anchored_.find(anchor);
    if (anchored == anchored_.end())
      throw YamlError{place_of(mark), "the alias is inside the value that it names; write the value out"};
    charge(count_nodes(anchored->second), place_of(mark));
    place(anchored->second, place_of(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor;
  };

  // yaml-cpp gives "?" or "" to plain nodes and "!" to quoted scalars.
  static void check_tag(const YAML::Mark& mark, std::string tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    constexpr std::string_view standard = "tag:yaml.org,2002:";
    if (tag.starts_with(standard)) tag.replace(0, standard.size(), "!!");
    throw YamlError{
        place_of(mark),
        fmt::format("the tag {} is not supported (types are known by key); remove it", printable(tag))};
  }
  void charge(std::size_t nodes, const Place& place) {
    nodes_ += nodes;
    if (nodes_ > most_yaml_nodes)
      throw YamlError{place, fmt::format("the deck has more than {} parts, aliases expanded; make it smaller",
                                         most_yaml_nodes)};
  }
  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (open_.size() >= static_cast<std::size_t>(deepest_nesting))
      throw YamlError{place_of(mark),
                      fmt::format("nested deeper than {} levels; no deck needs that", deepest_nesting)};
    open_.push_back({{.kind = kind, .place = place_of(mark)}, anchor});
  }
  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done.node), done.anchor);
  }
  void add(YamlNode node, YAML::anchor_t anchor) {
    charge(1, node.place);
    if (anchor) {
      charge(count_nodes(node), node.place);
      anchored_[anchor] = node;
    }
    const Place where = node.place;
    place(std::move(node), where);
  }
  // Adds a finished node to the map or list around it. In a map keys and values alternate.
  void place(YamlNode node, const Place& where) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back().node;
    if (parent.kind == YamlNode::Kind::map && parent.keys.size() == parent.items.size()) {
      if (node.kind != YamlNode::Kind::scalar)
        throw YamlError{where,
                        "a key must be a word; remove the brackets, or write the missing word before ':'"};
      parent.keys.push_back({std::move(node.text), where});
    } else {
      parent.items.push_back(std::move(node));
    }
  }

  bool started_ = false;
  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::size_t nodes_ = 0;
};

// yaml-cpp accepts any bytes. It also detects UTF-16 and UTF-32, which the check for NUL excludes.
void check_bytes(const std::string& text) {
  Place place;
  std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // a byte order mark is accepted
  while (i < text.size()) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      ++place.line;
      place.column = 1;
      ++i;
      continue;
    }
    if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7F)
      throw YamlError{place, fmt::format("control character 0x{:02X}; remove it", byte)};
    const std::size_t length = utf8_length(std::string_view(text).substr(i));
    if (length == 0)
      throw YamlError{place, fmt::format("byte 0x{:02X} is not UTF-8; save the deck as UTF-8", byte)};
    place.column += static_cast<int>(length);
    i += length;
    if (static_cast<std::size_t>(place.column) > longest_line_bytes + 1)
      throw YamlError{place, fmt::format("the line has more than {} bytes; break it", longest_line_bytes)};
  }
}

// Finds a tab that indents a line. yaml-cpp fails at the tab or at the ':' after it, and names neither.
std::optional<Place> find_indenting_tab(const std::string& text, int line) {
  std::size_t start = 0;
  for (int i = 1; i < line && start != text.npos; ++i) start = text.find('\n', start) + 1;
  const std::size_t first = text.find_first_not_of(' ', start);
  if (first == text.npos || text[first] != '\t') return std::nullopt;
  return Place{.line = line, .column = static_cast<int>(first - start) + 1};
}

// The message of yaml-cpp. From 0.8 on it ends with the name of an anchor, which the deck has at that place.
std::string_view reason(const YAML::Exception& error) {
  constexpr std::string_view unknown_anchor = "the referenced anchor is not defined";
  return error.msg.starts_with(unknown_anchor) ? unknown_anchor : std::string_view(error.msg);
}

}  // namespace

YamlNode parse_yaml(const std::string& text) {
  if (text.size() > largest_deck_bytes)
    throw YamlError{
        {}, fmt::format("the deck has more than {} bytes; put data in an HDF5 file", largest_deck_bytes)};
  check_bytes(text);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    TreeBuilder tree;
    if (!parser.HandleNextDocument(tree)) return {};
    YamlNode root = tree.take();
    if (root.kind == YamlNode::Kind::map) {
      // The reader rejects anything but a map. After ",:" a second call would find the same text again.
      parser.HandleNextDocument(tree);
    }
    return root;
  } catch (const YAML::Exception& error) {
    if (const auto tab = find_indenting_tab(text, place_of(error.mark).line))
      throw YamlError{*tab, "a tab indents this line (YAML requires spaces); use spaces"};
    throw YamlError{place_of(error.mark),
                    fmt::format("not YAML ({}); mend it here or just above", reason(error))};
  }
}

}  // namespace isotherm
