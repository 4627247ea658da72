#include "app/study_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "app/plan.hpp"
#include "app/session.hpp"
#include "app/verification.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "core/text_table.hpp"
#include "core/timer.hpp"
#include "kernels/bandwidth.hpp"
#include "kernels/stencil.hpp"
#include "physics/paint.hpp"
#include "solver/schedule.hpp"

namespace isotherm {
namespace {

double least_bytes(const Config& config) {
  const bool has_source = !all_sources(config).empty();
  return config.precision == Precision::fp32 ? least_bytes_per_cell<float>(has_source)
                                             : least_bytes_per_cell<double>(has_source);
}

CasePlan plan_case(const DeckCase& each, const CudaDevices& found) {
  const Config& config = each.config;
  const Seat seat = seat_among(config, found, Host::either);
  CasePlan plan{.name = each.study.name, .ranks = each.study.ranks, .backend = seat.backend};
  plan.look = look_at(each);
  const std::vector<Config> grids = cases_of(config);
  plan.cells = grids.back().grid.cells;
  for (const Config& grid : grids) {
    const std::int64_t sweeps = likely_sweeps(grid);
    plan.sweeps += sweeps;
    plan.traffic_bytes +=
        static_cast<double>(sweeps) * static_cast<double>(grid.grid.cells.product()) * least_bytes(grid);
  }
  const MemoryPlan memory = plan_memory(grids.back(), plan.ranks, 0, seat, plan.ranks);
  plan.memory_bytes =
      static_cast<double>(plan.backend == Backend::cuda ? memory.device() : memory.host(plan.backend)) *
      plan.ranks;
  for (const FileGroup& group : plan_files(config)) plan.file_bytes += group.bytes();
  if (config.output.checkpoint.at_end() || config.output.checkpoint.has_interval())
    plan.file_bytes += plan_checkpoints(config).bytes();
  return plan;
}

// Bytes a second that a copy by all threads of this process moves: the median of some passes.
double copy_bandwidth(Backend backend, std::size_t field_bytes) {
  const std::unique_ptr<Device> device = backend == Backend::cuda
                                             ? make_cuda_device(find_cuda_devices().devices.front().index)
                                             : make_host_device();
  const auto probe =
      make_copy_probe(*device, roof_bytes(field_bytes, std::numeric_limits<double>::infinity(), backend, 1));
  const Owned<Stream> stream = own_stream(*device, Priority::normal);
  Stopwatch watch(*device, stream);
  std::vector<double> seconds;
  const Timer timer;
  watch.seconds([&] { probe->enqueue(stream); });  // loads the kernel
  while (seconds.size() < 3 || (timer.seconds() < 0.25 && seconds.size() < 100))
    seconds.push_back(watch.seconds([&] { probe->enqueue(stream); }));
  std::ranges::nth_element(seconds, seconds.begin() + std::ssize(seconds) / 2);
  return probe->bytes() / seconds[seconds.size() / 2];
}

TextTable table_of(const std::vector<CasePlan>& plans) {
  TextTable table{"lrrrrrl", {{"name", "ranks", "cells", "sweeps", "memory", "files", "state"}}};
  for (const CasePlan& plan : plans) {
    table.rows.push_back({plan.name, fmt::format("{}", plan.ranks), extent_text(plan.cells),
                          grouped(plan.sweeps), human_bytes(plan.memory_bytes), human_bytes(plan.file_bytes),
                          word(plan.look.state)});
  }
  return table;
}

}  // namespace

void refuse_cases(const StudyDeck& deck, Host host) {
  const CudaDevices found = host == Host::another ? CudaDevices{} : find_cuda_devices();
  for (const DeckCase& each : deck.cases) {
    try {
      const Seat seat =
          host == Host::another ? Seat{Backend::host, host} : seat_among(each.config, found, host);
      for (const Config& grid : sound_cases(each.config)) {
        // Of another host only what is so on all: blocks that are too thin, a grid of too few processes. To
        // ask rows of a GPU opens it: a study that holds one open may keep its own cases out.
        if (seat.host == Host::this_one && seat.backend == Backend::host) {
          refuse_on(grid, each.study.ranks, seat.backend);
        } else {
          decompose(grid, each.study.ranks, seat.backend);
        }
      }
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{} [case {}]", error.what(), each.study.name));
    }
  }
}

std::vector<CasePlan> plan_cases(const StudyDeck& deck) {
  const CudaDevices found = find_cuda_devices();
  std::vector<CasePlan> plans;
  for (const DeckCase& each : deck.cases) plans.push_back(plan_case(each, found));
  return plans;
}

std::string plan_table(const std::vector<CasePlan>& plans, std::optional<int> width) {
  return table_of(plans).text(2, width);
}

std::string dry_run_text(const StudyDeck& deck, Failed failed, std::optional<int> width) {
  const std::vector<CasePlan> plans = plan_cases(deck);
  std::map<Backend, double> bandwidth;  // of the backends that the cases use
  TextTable table = table_of(plans);
  table.alignment += "r";
  table.rows.front().emplace_back("time");
  double seconds = 0, files = 0, memory = 0;
  std::int64_t due = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const CasePlan& plan = plans[i];
    if (!bandwidth.contains(plan.backend))
      bandwidth[plan.backend] =
          copy_bandwidth(plan.backend, static_cast<std::size_t>(plan.cells.product()) * sizeof(double));
    const double time = plan.traffic_bytes / bandwidth[plan.backend];
    const bool is_due = plan.look.is_due(failed);
    table.rows[i + 1].push_back(is_due ? human_duration(time) : "-");
    memory = std::max(memory, plan.memory_bytes);
    if (!is_due) continue;
    ++due;
    seconds += time;
    files += plan.file_bytes;
  }
  std::string text =
      table.text(0, width) + fmt::format(
                                 "\n{} of {} to run in {}: {} of sweeps, {} of files of the field, at "
                                 "most {} of memory a case\n",
                                 due, counted(std::ssize(plans), "case"), in_quotes(deck.directory),
                                 human_duration(seconds), human_bytes(files), human_bytes(memory));
  for (const auto& [backend, bytes] : bandwidth)
    text += fmt::format(
        "Times are estimates: the least traffic of all sweeps (of a steady problem as if it took them "
        "all) over a copy bandwidth of {:.1f} GB/s, measured here ({}).\n",
        bytes / 1e9, word(backend));
  return text;
}

}  // namespace isotherm
