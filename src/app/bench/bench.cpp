#include "app/bench/bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/agree.hpp"
#include "core/host_threads.hpp"
#include "core/text.hpp"
#include "kernels/host_info.hpp"
#include "output/console/console.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

LadderBench subject_of(const BenchOptions& options) {
  if (options.subject == BenchSubject::reduction) return reduction_bench();
  if (options.subject == BenchSubject::bandwidth) return bandwidth_bench();
  return stencil_bench();
}

bool holds(const std::vector<std::string_view>& names, const std::vector<std::string>& asked) {
  return std::all_of(asked.begin(), asked.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

// Whether the rows that were asked for are the processor's alone.
bool of_the_host(const BenchOptions& options, const LadderBench& subject) {
  return !options.rows.empty() && holds(subject.names(Backend::host), options.rows) &&
         !holds(subject.names(Backend::cuda), options.rows);
}

std::vector<Int3> sizes_of(const BenchOptions& options, Backend backend) {
  if (!options.sizes.empty()) return options.sizes;
  const Index edge = backend == Backend::host ? 256 : 512;
  return {{edge, edge, edge}};
}

}  // namespace

std::unique_ptr<Device> open_device(const BenchOptions& options, const Communicator& world,
                                    bool prefer_host) {
  const bool is_open = options.device == DeviceChoice::automatic;
  if (options.device == DeviceChoice::cpu || (is_open && prefer_host)) return make_host_device();
  const CudaDevices found = find_cuda_devices();
  const auto fewest = world.all_reduce(static_cast<std::int64_t>(found.devices.size()), ReduceOp::min);
  if (fewest == 0 && is_open) return make_host_device();
  const auto local = static_cast<std::size_t>(world.split_by_host().rank());
  return agree(world, [&] {
    if (found.devices.empty()) {
      throw Error(ExitCode::unavailable, fmt::format("bench: no CUDA device ({}); use --device cpu, or run "
                                                     "where every rank sees a GPU",
                                                     found.why_none));
    }
    return make_cuda_device(found.devices[local % found.devices.size()].index);
  });
}

void validate_rows(const BenchOptions& options, const std::vector<std::string_view>& names, Backend backend) {
  for (const std::string& name : options.rows) {
    if (holds(names, {name})) continue;
    throw Error(ExitCode::command_line,
                fmt::format("bench: --rows: no row {} of bench {} runs on {}; use one of {}", in_quotes(name),
                            word(options.subject), word(backend), fmt::join(names, ", ")));
  }
}

void validate_memory(const BenchOptions& options, const std::vector<Int3>& sizes, const Communicator& world,
                     const Device& device, const std::function<double(Int3, Precision)>& needed) {
  const double free = static_cast<double>(device.memory().free_bytes);
  for (const Int3 cells : sizes) {
    for (const Precision precision : options.precisions) {
      const double bytes = needed(cells, precision);
      if (world.all_reduce(std::int64_t{bytes <= free}, ReduceOp::min)) continue;
      throw CollectiveError(
          ExitCode::memory,
          fmt::format("bench: {} cells need {} of {} memory and {} are free; use smaller --sizes",
                      extent_text(cells), human_bytes(bytes),
                      device.backend() == Backend::host ? "host" : "device", human_bytes(free)));
    }
  }
}

void refuse_unwritable(const std::string& path) {
  if (path.empty()) return;
  const std::string part = path + ".part";
  std::error_code ignored;
  if (std::filesystem::exists(part, ignored) && !std::filesystem::is_directory(part, ignored) &&
      access(part.c_str(), W_OK) == 0)
    return;
  create_empty_file(part);
  remove_file(part);
}

BenchRecord describe_bench(const CommandLine& command, const Device& device, const ThreadPlan& threads) {
  const BenchOptions& options = command.bench;
  BenchRecord record;
  record.subject = options.subject;
  record.command_line = command.program;
  record.started = utc_now();
  record.host = processor_name();
  record.device = device.info();
  if (device.backend() == Backend::host) {
    record.instruction_set = host_instruction_set();
    record.threads_note = threads.note;
    if (!threads.warning.empty()) record.warnings.push_back(threads.warning);
  }
  record.seed = options.seed;
  record.seconds_a_row = options.seconds;
  record.walls = options.walls;
  record.source = options.source;
  record.overlap = options.overlap;
  if (options.norm) record.norm = std::string(word(*options.norm));
  if (options.subject == BenchSubject::reduction) record.op = std::string(word(options.op));
  return record;
}

int conclude_bench(const CommandLine& command, BenchRecord& record, const Communicator& world) {
  record.finished = utc_now();
  const std::string& path = command.bench.json;
  agree(world, [&] {
    if (world.is_root() && !path.empty()) write_file_atomically(path, to_json(record));
  });
  return static_cast<int>(all_right(record) ? ExitCode::done : ExitCode::internal);
}

namespace {

int measure(const CommandLine& command, const Communicator& world, const ThreadPlan& threads) {
  const BenchOptions& options = command.bench;
  const LadderBench subject = subject_of(options);
  use_threads(threads.threads);
  const auto device = open_device(options, world, of_the_host(options, subject));
  const auto host = make_host_of(*device);
  validate_rows(options, subject.names(device->backend()), device->backend());
  const Owned<Stream> stream = own_stream(*device, Priority::normal);
  Sampler sampler(*device, stream, options.seconds);
  const Bench bench{options, *device, *host, stream, sampler};
  if (subject.validate) subject.validate(bench);
  const std::vector<Int3> sizes = sizes_of(options, device->backend());
  const auto memory = [&](Int3 cells, Precision precision) {
    return subject.memory(bench, cells, precision);
  };
  if (!bench.on_host())
    validate_memory(options, sizes, world, *device, [&](Int3 c, Precision p) { return memory(c, p).device; });
  validate_memory(options, sizes, world, *host, [&](Int3 c, Precision p) { return memory(c, p).host; });
  refuse_unwritable(options.json);

  BenchRecord record = describe_bench(command, *device, threads);
  print_now(bench_banner(record));
  BenchRecord ladder = record;
  for (const Int3 cells : sizes) {
    for (const Precision precision : options.precisions) {
      ladder.entries = subject.ladder(bench, cells, precision);
      print_now(bench_table(ladder));
      record.entries.insert(record.entries.end(), ladder.entries.begin(), ladder.entries.end());
    }
  }
  return conclude_bench(command, record, world);
}

}  // namespace

double field_bytes(Int3 cells, int ghosts, Precision precision) {
  double bytes = precision == Precision::fp32 ? 4 : 8;
  for (int axis = 0; axis < 3; ++axis) bytes *= static_cast<double>(cells[axis] + 2 * ghosts);
  return bytes;
}

int bench(const CommandLine& command, const Communicator& world) {
  const ThreadPlan threads = plan_threads(world.split_by_host());
  if (command.bench.subject == BenchSubject::halo) return bench_halo(command, world, threads);
  if (command.bench.subject == BenchSubject::io) return bench_io(command, world, threads);
  return agree(world, [&] {
    if (world.size() > 1) {
      throw Error(
          ExitCode::command_line,
          fmt::format("bench: {} ranks were started (it measures one device by one process); start it "
                      "without mpirun, or with one rank",
                      world.size()));
    }
    return measure(command, world, threads);
  });
}

}  // namespace isotherm
