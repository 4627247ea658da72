// What a benchmark measures: one file a subject. A ladder is all rows on one grid in one precision.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/bench/options.hpp"
#include "app/bench/sampling.hpp"
#include "app/command_line.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/host_threads.hpp"
#include "output/records/bench_record.hpp"

namespace isotherm {

struct Bench {
  const BenchOptions& options;
  Device& device;
  Device& host;
  Stream stream;
  Sampler& sampler;

  bool on_host() const { return device.backend() == Backend::host; }
};

// Bytes that a ladder holds at its fullest. On the CPU everything is host memory.
struct BenchMemory {
  double device = 0, host = 0;
};

void refuse_stencil_depths(const Bench& bench);  // throws Error(command_line)
BenchMemory stencil_memory(const Bench& bench, Int3 cells, Precision precision);
std::vector<BenchEntry> stencil_ladder(const Bench& bench, Int3 cells, Precision precision);
std::vector<std::string_view> stencil_names(Backend backend);

BenchMemory reduction_memory(const Bench& bench, Int3 cells, Precision precision);
std::vector<BenchEntry> reduction_ladder(const Bench& bench, Int3 cells, Precision precision);
std::vector<std::string_view> reduction_names(Backend backend);

BenchMemory bandwidth_memory(const Bench& bench, Int3 cells, Precision precision);
std::vector<BenchEntry> bandwidth_ladder(const Bench& bench, Int3 cells, Precision precision);
std::vector<std::string_view> bandwidth_names(Backend backend);

// The rows of one backend, those that were asked for, in the order of the table.
template <class Row>
std::vector<const Row*> chosen_rows(std::span<const Row> table, const Bench& bench) {
  std::vector<const Row*> chosen;
  for (const Row& row : table) {
    const std::vector<std::string>& asked = bench.options.rows;
    const bool wanted = asked.empty() || std::find(asked.begin(), asked.end(), row.name) != asked.end();
    if (wanted && row.backend == bench.device.backend()) chosen.push_back(&row);
  }
  return chosen;
}

// Calls body(T{}) for the number of that precision.
template <class Body>
auto with_number(Precision precision, const Body& body) {
  return precision == Precision::fp32 ? body(float{}) : body(double{});
}

template <class T>
BenchEntry new_entry(std::string_view row, Int3 cells) {
  BenchEntry entry;
  entry.row = row;
  entry.policy = "-";
  entry.precision = sizeof(T) == 4 ? Precision::fp32 : Precision::fp64;
  entry.cells = cells;
  return entry;
}

BenchRecord describe_bench(const CommandLine& command, const Device& device, const ThreadPlan& threads);
// Collective: writes the JSON and returns the exit code.
int conclude_bench(const CommandLine& command, BenchRecord& record, const Communicator& world);
// Before hours of work: can the file be made? What stands there, as a killed run's last words, stays as it is
// until there is something better.
void refuse_unwritable(const std::string& path);

// Of all ranks together, which have to be an even number.
int bench_halo(const CommandLine& command, const Communicator& world, const ThreadPlan& threads);
// Of all ranks together.
int bench_io(const CommandLine& command, const Communicator& world, const ThreadPlan& threads);

double field_bytes(Int3 cells, int ghosts, Precision precision);  // at least; never overflows

}  // namespace isotherm
