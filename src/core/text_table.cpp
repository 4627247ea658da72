#include "core/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/text.hpp"

namespace isotherm {
namespace {

constexpr std::size_t gap = 2;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// What a line may not be broken within: a word, a part of a_name or a.path, not a number.
std::vector<std::string_view> pieces_of(std::string_view cell) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 1 < cell.size(); ++i) {
    const char c = cell[i], next = cell[i + 1];
    const bool ends = (c == ' ' && next != ' ') || c == '_' || c == '/' || (c == '.' && is_letter(next));
    if (!ends) continue;
    pieces.push_back(cell.substr(begin, i + 1 - begin));
    begin = i + 1;
  }
  pieces.push_back(cell.substr(begin));
  return pieces;
}

std::string_view without_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::vector<std::string> broken(std::string_view cell, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view piece : pieces_of(cell)) {
    const std::string longer = lines.back() + std::string(piece);
    if (!lines.back().empty() && display_width(without_end(longer)) > width) {
      lines.emplace_back(piece);
    } else {
      lines.back() = longer;
    }
  }
  for (std::string& line : lines) line.resize(without_end(line).size());
  return lines;
}

using Widths = std::vector<std::size_t>;

class Layout {
 public:
  Layout(const TextTable& table, int indent)
      : table_(table), indent_(static_cast<std::size_t>(indent)), widths_(table.alignment.size(), 0) {
    each_cell([&](std::size_t, std::size_t c, const std::string& cell) {
      widths_[c] = std::max(widths_[c], display_width(cell));
    });
  }

  // Whether lines of at most `most` could be made.
  bool fit(std::size_t most) {
    const Widths least = least_widths();
    while (line_width() > most) {
      std::size_t widest = widths_.size();
      for (std::size_t c = 0; c < widths_.size(); ++c)
        if (widths_[c] > least[c] && (widest == widths_.size() || widths_[c] > widths_[widest])) widest = c;
      if (widest == widths_.size()) return false;
      --widths_[widest];
    }
    return true;
  }

  std::string lines() const {
    std::string all;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) all += lines_of(r);
    return all;
  }

  std::string blocks() const {
    const std::vector<std::string>& heads = table_.rows.front();
    std::size_t head_width = 0;
    for (const std::string& head : heads) head_width = std::max(head_width, display_width(head));
    std::string all;
    for (std::size_t r = 1; r < table_.rows.size(); ++r) {
      if (r > 1) all += "\n";
      for (std::size_t c = 0; c < std::min(table_.rows[r].size(), widths_.size()); ++c)
        if (!table_.rows[r][c].empty())
          all += fmt::format("{:{}}{:<{}}  {}\n", "", indent_, c < heads.size() ? heads[c] : "", head_width,
                             table_.rows[r][c]);
    }
    return all;
  }

 private:
  template <class Use>
  void each_cell(Use use) const {
    for (std::size_t r = 0; r < table_.rows.size(); ++r)
      for (std::size_t c = 0; c < std::min(table_.rows[r].size(), widths_.size()); ++c)
        use(r, c, table_.rows[r][c]);
  }

  std::size_t line_width() const {
    std::size_t width = indent_;
    for (std::size_t c = 0; c < widths_.size(); ++c) width += widths_[c] + (c > 0 ? gap : 0);
    return width;
  }

  bool may_break(std::size_t row, std::size_t column) const {
    return row == 0 || table_.alignment[column] == 'l';
  }

  Widths least_widths() const {
    Widths least(widths_.size(), 0);
    each_cell([&](std::size_t r, std::size_t c, const std::string& cell) {
      if (!may_break(r, c)) least[c] = std::max(least[c], display_width(cell));
      if (!may_break(r, c)) return;
      for (const std::string_view piece : pieces_of(cell))
        least[c] = std::max(least[c], display_width(without_end(piece)));
    });
    return least;
  }

  // Of heads the last lines stand above the cells.
  std::string lines_of(std::size_t r) const {
    const std::vector<std::string>& row = table_.rows[r];
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t c = 0; c < std::min(row.size(), widths_.size()); ++c) {
      cells.push_back(may_break(r, c) ? broken(row[c], widths_[c]) : std::vector{row[c]});
      height = std::max(height, cells.back().size());
    }
    std::string all;
    for (std::size_t i = 0; i < height; ++i) {
      std::string line(indent_, ' ');
      for (std::size_t c = 0; c < cells.size(); ++c) {
        const std::size_t above = r == 0 ? height - cells[c].size() : 0;
        const std::string cell = i >= above && i - above < cells[c].size() ? cells[c][i - above] : "";
        if (c > 0) line.append(gap, ' ');
        line += table_.alignment[c] == 'r' ? fmt::format("{:>{}}", cell, widths_[c])
                                           : fmt::format("{:<{}}", cell, widths_[c]);
      }
      all += std::string(without_end(line)) + "\n";
    }
    return all;
  }

  const TextTable& table_;
  std::size_t indent_;
  Widths widths_;
};

// The columns that say what a row is, which stand on the left, and those from `first` to before `last`.
TextTable some_columns(const TextTable& table, std::size_t keys, std::size_t first, std::size_t last) {
  const auto some_of = [&](const auto& all) {
    auto some = all;
    some.clear();
    for (std::size_t c = 0; c < std::min(last, all.size()); ++c)
      if (c < keys || c >= first) some.push_back(all[c]);
    return some;
  };
  TextTable part{some_of(table.alignment), {}};
  for (const std::vector<std::string>& row : table.rows) part.rows.push_back(some_of(row));
  return part;
}

// Tables below each other, of as many columns as fit; none where a single one does not.
std::optional<std::string> parts(const TextTable& table, int indent, std::size_t most) {
  // A number may count the rows, with words behind it.
  const std::size_t columns = table.alignment.size(), numbers = table.alignment.find('r', 1),
                    keys = numbers == std::string::npos ? 1 : numbers;
  std::string all;
  for (std::size_t first = keys, last = columns; first < columns; last = columns) {
    TextTable part = some_columns(table, keys, first, last);
    while (last > first && !Layout(part, indent).fit(most)) part = some_columns(table, keys, first, --last);
    if (last == first) return std::nullopt;
    if (first > keys) all += "\n";
    all += part.text(indent, static_cast<int>(most));
    first = last;
  }
  return all.empty() ? std::nullopt : std::optional(all);
}

}  // namespace

std::string TextTable::text(int indent, std::optional<int> width) const {
  Layout layout(*this, indent);
  const auto most = static_cast<std::size_t>(std::max(width.value_or(1), 1));
  if (!width || layout.fit(most)) return layout.lines();
  return parts(*this, indent, most).value_or(layout.blocks());
}

}  // namespace isotherm
