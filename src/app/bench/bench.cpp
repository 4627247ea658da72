#include "app/bench/bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "config/key_table.hpp"
#include "core/all_or_throw.hpp"
#include "core/host_threads.hpp"
#include "core/text.hpp"
#include "kernels/host_info.hpp"
#include "output/console/console.hpp"
#include "output/safe_file.hpp"

namespace isotherm {

Sampler::Sampler(Device& device, Stream stream, double seconds)
    : watch_(device, stream), stream_(stream), seconds_(seconds) {}

double Sampler::seconds_of(const std::function<void()>& launch, std::int64_t launches) {
  const double all = watch_.seconds([&] {
    for (std::int64_t i = 0; i < launches; ++i) launch();
  });
  // A coarse clock may measure 0, and callers divide by the result.
  return std::max(all, 1e-9) / static_cast<double>(launches);
}

std::int64_t Sampler::launches_of_a_batch(const std::function<void()>& launch) {
  seconds_of(launch, 1);  // the first launch loads code, touches pages, wakes threads
  std::int64_t launches = 1;
  while (launches < 1 << 20) {
    const double each = seconds_of(launch, launches);
    if (each * static_cast<double>(launches) >= batch_seconds) break;
    const auto wanted = static_cast<std::int64_t>(1.2 * batch_seconds / each) + 1;
    launches = std::clamp(wanted, launches + 1, 16 * launches);
  }
  return launches;
}

// Alternates the order of launch and base, as the first changes caches and clock rate for the second.
BenchSamples Sampler::measure(const Work& work, CopyProbes probes) {
  const auto copy = [&] { probes.copy->enqueue(stream_); };
  const auto read = [&] { probes.read->enqueue(stream_); };
  BenchSamples samples;
  if (!work.single) samples.launches = launches_of_a_batch(work.launch);
  if (work.base) samples.launches = std::max(samples.launches, launches_of_a_batch(work.base));
  const std::int64_t copies = probes.copy ? launches_of_a_batch(copy) : 0;
  const std::int64_t reads = probes.read ? launches_of_a_batch(read) : 0;
  bool base_first = false;
  const Timer timer;
  for (int taken = 0; taken < least_samples || (taken < most_samples && timer.seconds() < seconds_);
       ++taken) {
    if (probes.copy) samples.copy_bytes_per_s.push_back(probes.copy->bytes() / seconds_of(copy, copies));
    if (probes.read) samples.read_bytes_per_s.push_back(probes.read->bytes() / seconds_of(read, reads));
    if (work.prepare) work.prepare();
    double seconds[2] = {};  // of the launch, of the base
    for (const bool of_base : {base_first, !base_first})
      if (const auto& queue = of_base ? work.base : work.launch)
        seconds[of_base] = seconds_of(queue, samples.launches);
    samples.seconds.push_back(seconds[0] - seconds[1]);
    if (work.base) samples.base_seconds.push_back(seconds[1]);
    base_first = !base_first;
  }
  return samples;
}

namespace {

bool holds(const std::vector<std::string_view>& names, const std::vector<std::string>& asked) {
  return std::ranges::all_of(asked, [&](const auto& name) { return std::ranges::count(names, name) > 0; });
}

// Is the host to be used? Files are written from its memory, and the requested kernels may run only there.
bool of_the_host(const BenchOptions& options, const Subject& subject) {
  return options.subject == BenchSubject::io ||
         (!options.names.empty() && holds(subject.names(Backend::host), options.names) &&
          !holds(subject.names(Backend::cuda), options.names));
}

std::vector<Int3> sizes_of(const BenchOptions& options, Backend backend) {
  if (!options.sizes.empty()) return options.sizes;
  if (options.subject == BenchSubject::halo) return {{64, 64, 64}, {256, 256, 256}};
  if (options.subject == BenchSubject::formula) return {{512, 512, 1}};
  const Index edge = backend == Backend::host ? 256 : 512;
  return {{edge, edge, edge}};
}

// Collective: a GPU for every rank where all have one, unless `prefer_host`; else the CPU.
std::unique_ptr<Device> open_device(const BenchOptions& options, const Communicator& world,
                                    bool prefer_host) {
  const bool is_open = options.device == DeviceChoice::automatic;
  if (options.device == DeviceChoice::cpu || (is_open && prefer_host)) return make_host_device();
  const CudaDevices found = find_cuda_devices();
  const auto fewest = world.all_reduce(static_cast<std::int64_t>(found.devices.size()), ReduceOp::min);
  if (fewest == 0 && is_open) return make_host_device();
  const auto local = static_cast<std::size_t>(world.split_by_host().rank());
  return all_or_throw(world, [&] {
    if (found.devices.empty())
      throw error_of(ExitCode::unavailable,
                     "bench: no CUDA device ({}); use --device cpu, or run where every rank sees a GPU",
                     found.why_none);
    return make_cuda_device(found.devices[local % found.devices.size()].index);
  });
}

void validate_names(const BenchOptions& options, const std::vector<std::string_view>& names,
                    Backend backend) {
  const char* const what = options.subject == BenchSubject::halo    ? "transport"
                           : options.subject == BenchSubject::solve ? "method"
                                                                    : "kernel";
  for (const std::string& name : options.names) {
    if (holds(names, {name})) continue;
    const auto former = std::ranges::find(former_kernels, name, &FormerWord::was);
    if (former != std::end(former_kernels) && holds(names, {std::string(former->is)}))
      throw error_of(ExitCode::command_line, "bench: --kernels: '{}' is called {} now", name, former->is);
    throw error_of(ExitCode::command_line, "bench: --{}s: no {} {} of bench {} runs on {}; use one of {}",
                   what, what, in_quotes(name), word(options.subject), word(backend), fmt::join(names, ", "));
  }
}

// Collective, before any work: throws CollectiveError(memory) where some rank has not that much free.
void validate_memory(const Bench& bench, const Subject& subject, const std::vector<Int3>& sizes,
                     const Device& device, double BenchMemory::*needed) {
  const double free = static_cast<double>(device.memory().free_bytes);
  for (const Int3 cells : sizes) {
    for (const Precision precision : bench.options.precisions) {
      const double bytes = subject.memory(bench, cells, precision).*needed;
      if (bench.world.all(bytes <= free)) continue;
      throw error_of<CollectiveError>(
          ExitCode::memory, "bench: {} cells need {} of {} memory and {} are free; use smaller --sizes",
          extent_text(cells), human_bytes(bytes), device.backend() == Backend::host ? "host" : "device",
          human_bytes(free));
    }
  }
}

// Before hours of work: can the file be created? An existing file is kept until it is replaced at the end.
void check_writable(const std::string& path, const std::string& deck) {
  std::error_code ignored;
  if (std::filesystem::equivalent(path, deck, ignored))
    throw error_of(ExitCode::command_line, "bench: --json {} is the deck; name another file",
                   in_quotes(path));
  if (path.empty() || std::filesystem::is_other(path, ignored)) return;
  const std::string part = follow_links(path) + ".part";
  if (std::filesystem::is_directory(path, ignored))
    throw error_of(ExitCode::cannot_create, "{}: is a directory; name a file in it", path);
  if (std::filesystem::exists(part, ignored) && !std::filesystem::is_directory(part, ignored) &&
      access(part.c_str(), W_OK) == 0)
    return;
  create_empty_file(part);
  remove_file(part);
}

BenchRecord describe_bench(const CommandLine& command, const Communicator& world, const Device& device,
                           const ThreadPlan& threads) {
  BenchRecord record;
  record.options = command.bench;
  record.command_line = command.program;
  record.started = utc_now();
  record.host = processor_name();
  record.ranks = world.size();
  record.device = device.info();
  if (device.backend() == Backend::host) {
    record.instruction_set = host_instruction_set();
    record.threads_note = threads.note;
    if (!threads.warning.empty()) record.warnings.push_back(threads.warning);
  }
  return record;
}

}  // namespace

double field_bytes(Int3 cells, int ghosts, Precision precision) {
  double bytes = precision == Precision::fp32 ? 4 : 8;
  for (int axis = 0; axis < 3; ++axis) bytes *= static_cast<double>(cells[axis] + 2 * ghosts);
  return bytes;
}

int bench(const CommandLine& command, const Communicator& world) {
  const BenchOptions& options = command.bench;
  // Only halos, files and solutions are measured with several ranks.
  if (world.size() > 1 && options.subject < BenchSubject::halo)
    throw error_of<CollectiveError>(ExitCode::command_line,
                                    "bench: {} ranks were started (it measures one device by one process); "
                                    "start it without mpirun, or with one rank",
                                    world.size());
  const Subject* const subjects[] = {&stencil_subject, &reduction_subject, &bandwidth_subject,
                                     &formula_subject, &halo_subject,      &io_subject,
                                     &solve_subject};
  const Subject& subject = *subjects[static_cast<std::size_t>(options.subject)];
  const ThreadPlan threads = plan_threads(world.split_by_host());
  use_threads(threads.threads);
  const auto device = open_device(options, world, of_the_host(options, subject));
  const auto host = make_host_device(device->row_alignment());
  const Priority priority = options.subject == BenchSubject::halo ? Priority::high : Priority::normal;
  const Owned<Stream> stream = all_or_throw(world, [&] { return own_stream(*device, priority); });
  Sampler sampler(*device, stream, options.seconds);
  std::vector<std::string> warnings;
  const Bench bench{options, world, *device, *host, stream, sampler, warnings};
  const std::vector<Int3> sizes = sizes_of(options, device->backend());
  all_or_throw(world, [&] {
    if (options.subject != BenchSubject::solve &&
        std::ranges::count(options.precisions, Precision::mixed) > 0)
      throw Error(ExitCode::command_line,
                  "bench: --precision mixed is for bench solve; use fp32, fp64 or both");
    validate_names(options, subject.names(device->backend()), device->backend());
    if (subject.validate) subject.validate(bench, sizes);
    if (world.is_root()) check_writable(options.json, options.deck);
  });
  if (!bench.on_host()) validate_memory(bench, subject, sizes, *device, &BenchMemory::device);
  validate_memory(bench, subject, sizes, *host, &BenchMemory::host);

  BenchRecord record = describe_bench(command, world, *device, threads);
  if (!options.deck.empty()) on_root(world, [&] { record.deck_contents = deck_contents(options.deck); });
  on_root(world, [&] { print_now(bench_banner(record)); });
  for (const Int3 cells : sizes)
    for (const Precision precision : options.precisions) {
      const std::vector<Json> entries = subject.measure(bench, cells, precision);
      on_root(world, [&] { print_now(bench_table(options, entries)); });
      record.entries.insert(record.entries.end(), entries.begin(), entries.end());
    }
  record.finished = utc_now();
  record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  on_root(world, [&] {
    print_now(skipped_line(record.entries));
    for (const std::string& warning : warnings) print_now("warning: " + warning + "\n");
    if (!options.json.empty()) write_named_file(options.json, to_json(record));
  });
  return static_cast<int>(all_right(record) ? ExitCode::done : ExitCode::internal);
}

}  // namespace isotherm
