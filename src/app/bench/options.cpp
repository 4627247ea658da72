#include "app/bench/options.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "core/error.hpp"
#include "core/text.hpp"

namespace isotherm {
namespace {

template <class Value>
struct Word {
  const char* text;
  Value value;
};

constexpr std::array subjects{Word<BenchSubject>{"stencil", BenchSubject::stencil},
                              Word<BenchSubject>{"reduction", BenchSubject::reduction},
                              Word<BenchSubject>{"bandwidth", BenchSubject::bandwidth},
                              Word<BenchSubject>{"halo", BenchSubject::halo},
                              Word<BenchSubject>{"io", BenchSubject::io}};
constexpr std::array precisions{Word<Precision>{"fp32", Precision::fp32},
                                Word<Precision>{"fp64", Precision::fp64}};
constexpr std::array devices{
    Word<DeviceChoice>{"auto", DeviceChoice::automatic}, Word<DeviceChoice>{"cpu", DeviceChoice::cpu},
    Word<DeviceChoice>{"cuda", DeviceChoice::cuda}, Word<DeviceChoice>{"gpu", DeviceChoice::cuda}};
constexpr std::array norms{Word<ReductionOp>{"max", ReductionOp::max_abs},
                           Word<ReductionOp>{"l1", ReductionOp::sum_abs},
                           Word<ReductionOp>{"l2", ReductionOp::sum_squares}};
constexpr std::array operations{Word<ReductionOp>{"sum", ReductionOp::sum}, norms[0], norms[1], norms[2]};
constexpr std::array policies{Word<bool>{"first", false}, Word<bool>{"all", true}};

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ExitCode::command_line, "bench: " + problem);
}

template <class Value, std::size_t n>
Value find(const char* option, const std::string& text, const std::array<Word<Value>, n>& words) {
  std::string valid;
  for (const Word<Value>& word : words) {
    if (text == word.text) return word.value;
    valid += fmt::format("{}{}", valid.empty() ? "" : ", ", word.text);
  }
  refuse(text.empty() ? fmt::format("no {} is given; use one of {}", option, valid)
                      : fmt::format("unknown {} {}; use one of {}", option, in_quotes(text), valid));
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

template <class Number>
std::optional<Number> number(const std::string& text) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Int3 parse_size(const std::string& text) {
  constexpr Index most = Index{1} << 20;  // an axis: the cells of a cube still fit 64 bits
  const std::vector<std::string> parts = split(text, 'x');
  Int3 cells;
  bool good = parts.size() == 1 || parts.size() == 3;
  for (std::size_t axis = 0; good && axis < 3; ++axis) {
    const auto n = number<Index>(parts[parts.size() == 1 ? 0 : axis]);
    good = n && *n >= 1 && *n <= most;
    if (good) cells[static_cast<int>(axis)] = *n;
  }
  if (!good)
    refuse(
        fmt::format("--sizes: {} is no size (an edge such as 256, or 256x128x64; an axis has 1 to {} cells)",
                    in_quotes(text), most));
  return cells;
}

// Sweeps or layers, which one follows from the other.
std::vector<int> parse_depths(const char* option, const char* what, const std::string& text) {
  std::vector<int> depths;
  for (const std::string& part : split(text, ',')) {
    const auto depth = number<int>(part);
    if (!depth || *depth < 1 || *depth > 64)
      refuse(fmt::format("{}: {} is no {} from 1 to 64 such as 1,2,4", option, in_quotes(part), what));
    depths.push_back(*depth);
  }
  return depths;
}

// What belongs to one subject is refused with another: ignored, it would pass for measured.
void refuse_strays(const BenchWords& w, BenchSubject subject) {
  const auto only = [&](bool given, const char* option, BenchSubject of) {
    if (given && subject != of)
      refuse(
          fmt::format("{} belongs to bench {}; leave it out of bench {}", option, word(of), word(subject)));
  };
  only(!w.policies.empty(), "--policies", BenchSubject::stencil);
  only(!w.depths.empty(), "--depths", BenchSubject::stencil);
  only(!w.norm.empty(), "--norm", BenchSubject::stencil);
  only(w.walls, "--walls", BenchSubject::stencil);
  only(w.source, "--source", BenchSubject::stencil);
  only(w.overlap, "--overlap", BenchSubject::stencil);
  only(!w.op.empty(), "--op", BenchSubject::reduction);
  only(!w.ghosts.empty(), "--ghosts", BenchSubject::halo);
  only(!w.folder.empty(), "--folder", BenchSubject::io);
  only(!w.repeats.empty(), "--repeats", BenchSubject::io);
  if (subject != BenchSubject::io) return;
  for (const auto& [given, option] :
       {std::pair(!w.rows.empty(), "--rows"), std::pair(!w.device.empty(), "--device"),
        std::pair(!w.seconds.empty(), "--seconds")}) {
    if (given)
      refuse(
          fmt::format("{} does not belong to bench io, which writes from host memory; leave it out", option));
  }
}

int parse_repeats(const std::string& text) {
  const auto repeats = number<int>(text);
  if (!repeats || *repeats < 1 || *repeats > 1000)
    refuse(fmt::format("--repeats: {} is no number from 1 to 1000", in_quotes(text)));
  return *repeats;
}

double parse_seconds(const std::string& text) {
  const auto seconds = number<double>(text);
  if (!seconds || !(*seconds > 0) || *seconds > 3600)
    refuse(fmt::format("--seconds: {} is no time; use a number up to 3600", in_quotes(text)));
  return *seconds;
}

}  // namespace

std::vector<Int3> parse_sizes(const std::string& text) {
  std::vector<Int3> sizes;
  for (const std::string& part : split(text, ',')) sizes.push_back(parse_size(part));
  return sizes;
}

BenchOptions parse_bench(const BenchWords& w) {
  BenchOptions o;
  o.subject = find("subject", w.subject, subjects);
  refuse_strays(w, o.subject);
  if (!w.sizes.empty()) o.sizes = parse_sizes(w.sizes);
  if (!w.precision.empty()) {
    o.precisions.clear();
    for (const std::string& part : split(w.precision, ','))
      o.precisions.push_back(find("--precision", part, precisions));
  }
  if (!w.rows.empty()) o.rows = split(w.rows, ',');
  if (!w.policies.empty()) o.all_policies = find("--policies", w.policies, policies);
  if (!w.depths.empty() && w.depths != "all") {
    o.depths = parse_depths("--depths", "depth; use all, or numbers", w.depths);
  }
  if (!w.ghosts.empty()) o.ghosts = parse_depths("--ghosts", "number of layers; use numbers", w.ghosts);
  if (!w.device.empty()) o.device = find("--device", w.device, devices);
  if (!w.norm.empty()) o.norm = find("--norm", w.norm, norms);
  if (!w.op.empty()) o.op = find("--op", w.op, operations);
  o.walls = w.walls;
  o.source = w.source;
  o.overlap = w.overlap;
  if (!w.seconds.empty()) o.seconds = parse_seconds(w.seconds);
  if (!w.seed.empty()) {
    const auto seed = number<std::uint64_t>(w.seed);
    if (!seed) refuse(fmt::format("--seed: {} is no whole number", in_quotes(w.seed)));
    o.seed = *seed;
  }
  if (!w.folder.empty()) o.folder = w.folder;
  if (!w.repeats.empty()) o.repeats = parse_repeats(w.repeats);
  o.json = w.json;
  return o;
}

const char* norm_word(ReductionOp op) {
  for (const Word<ReductionOp>& word : operations)
    if (word.value == op) return word.text;
  return "?";
}

}  // namespace isotherm
