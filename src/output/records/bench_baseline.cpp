#include "output/records/bench_baseline.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ExitCode::deck,
              fmt::format("{} is no baseline ({}); name what isotherm bench --json has written",
                          in_quotes(file), why));
}

// "bench stencil with walls and norm l2 on 1 rank (Some CPU)".
std::string subject_text(const Json& json) {
  std::vector<std::string> with;
  const Json& options = json.at("options");
  for (const char* flag : {"walls", "source", "overlap"})
    if (options.at(flag) == true) with.emplace_back(flag);
  for (const char* word : {"norm", "op"})
    if (options.at(word).is_string())
      with.push_back(fmt::format("{} {}", word, options[word].get<std::string>()));
  return fmt::format("bench {}{}{} on {} ({})", json.at("subject").get<std::string>(),
                     with.empty() ? "" : " with ", fmt::join(with, ", "),
                     counted(json.at("ranks").get<std::int64_t>(), "rank"),
                     escaped(json.at("device").at("name").get<std::string>()));
}

std::string grid_text(const Json& entry) {
  const Json& cells = entry.at("cells");
  return fmt::format("{} {}", entry.at("precision").get<std::string>(),
                     extent_text({cells.at(0), cells.at(1), cells.at(2)}));
}

// A number that was measured.
std::optional<double> measured(const Json& entry, const char* place) {
  const Json::json_pointer at(place);
  if (!entry.contains(at) || !entry[at].is_number()) return std::nullopt;
  return entry[at].get<double>();
}

class Merits {
 public:
  void add(const std::string& name, std::optional<double> value, double factor, const char* unit,
           Better better) {
    if (value) all_.push_back({name, factor * *value, unit, better});
  }
  std::vector<Merit> all() && { return std::move(all_); }

 private:
  std::vector<Merit> all_;
};

void add_row(Merits& merits, const Json& entry) {
  const auto policy = entry.at("policy").get<std::string>();
  const auto depth = entry.at("depth").get<int>();
  const std::string name =
      fmt::format("{}{}{} {}", entry.at("row").get<std::string>(), policy == "-" ? "" : " " + policy,
                  depth > 1 ? fmt::format(" depth {}", depth) : "", grid_text(entry));
  const auto points = measured(entry, "/points_per_s");
  merits.add(name, points, 1e-9, "GPts/s", Better::higher);
  if (!points) merits.add(name, measured(entry, "/bandwidth_bytes_per_s"), 1e-9, "GB/s", Better::higher);
  merits.add(name + ", of a copy", measured(entry, "/copy_bandwidth_share_percent"), 1, "%", Better::higher);
}

void add_exchange(Merits& merits, const Json& entry) {
  const std::string name = fmt::format(
      "{} {} {} {}", entry.at("transport").get<std::string>(), entry.at("face").get<std::string>(),
      counted(entry.at("ghosts").get<std::int64_t>(), "layer"), grid_text(entry));
  merits.add(name, measured(entry, "/exchange_s/median"), 1e6, "us", Better::lower);
  merits.add(name + ", latency", measured(entry, "/latency_s"), 1e6, "us", Better::lower);
}

void add_file(Merits& merits, const Json& entry) {
  const std::string name = fmt::format("{} {}", entry.at("way").get<std::string>(), grid_text(entry));
  merits.add(name, measured(entry, "/bandwidth_bytes_per_s"), 1e-9, "GB/s", Better::higher);
  merits.add(name + ", of raw", measured(entry, "/raw_share_percent"), 1, "%", Better::higher);
}

std::vector<Merit> merits_of(const Json& json) {
  Merits merits;
  for (const Json& entry : json.at("entries")) {
    if (entry.contains("verdict") && entry["verdict"] != "right") continue;
    if (entry.contains("way")) {
      add_file(merits, entry);
    } else if (entry.contains("transport")) {
      add_exchange(merits, entry);
    } else {
      add_row(merits, entry);
    }
  }
  return std::move(merits).all();
}

}  // namespace

std::vector<Merit> bench_merits(const std::string& json) {
  return merits_of(Json::parse(json));
}

Baseline parse_bench_baseline(const std::string& text, const std::string& file, const BenchRecord& now) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse(file, "it is not JSON");
  try {
    if (json.at("schema") != "isotherm-bench")
      refuse(file, fmt::format("its schema is {}", json["schema"].dump()));
    refuse_newer(json, bench_schema_version, file);
    const std::string before = subject_text(json), here = subject_text(Json::parse(to_json(now)));
    if (before != here)
      throw Error(
          ExitCode::deck,
          fmt::format("{} is of {}, and this is {} (figures of the two say nothing of each other); name "
                      "a baseline of this subject, its options, number of ranks and device",
                      in_quotes(file), before, here));
    Baseline baseline{file, {}, merits_of(json)};
    if (baseline.merits.empty()) refuse(file, "it has no figures");
    return baseline;
  } catch (const Json::exception&) {
    refuse(file, "it lacks schema, options, device, ranks or entries");
  }
}

}  // namespace isotherm
