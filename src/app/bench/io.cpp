// `isotherm bench io`: all ranks write snapshots, and as many bytes by plain system calls, into one folder.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "app/bench/bench.hpp"
#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

// A new folder inside `parent`; the destructor removes it with its contents.
class ScratchFolder {
 public:
  ScratchFolder(const std::string& parent, const Communicator& world) : world_(world) {
    std::string made = (std::filesystem::path(parent) / "isotherm-bench-XXXXXX").string();
    on_root(world, [&] {
      if (!mkdtemp(made.data()))
        throw error_of(ExitCode::cannot_create,
                       "bench: no folder can be made in {} ({}); name another with --folder", parent,
                       std::strerror(errno));
    });
    path_ = world.broadcast(made);
  }
  ~ScratchFolder() {
    if (!world_.is_root()) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder& operator=(ScratchFolder&&) = delete;

  const std::string& path() const { return path_; }

 private:
  const Communicator& world_;
  std::string path_;
};

// Writes a file of `all` bytes by plain system calls, each rank an even share of them; if its own bytes
// `mine` are fewer, it writes some of them twice. Returns the seconds of the slowest rank.
double raw_seconds(const Bench& bench, const std::string& path, std::string_view mine, std::int64_t all) {
  const Communicator& world = bench.world;
  const std::int64_t end = all * (world.rank() + 1) / world.size();
  const double seconds = bench.seconds([&] {
    on_root(world, [&] { create_empty_file(path); });
    all_or_throw(world, [&] {
      for (std::int64_t at = all * world.rank() / world.size(); at < end; at += std::ssize(mine))
        write_raw(path, mine.substr(0, end - at), at, SnapshotWriter::default_slab_bytes);
    });
  });
  if (world.is_root()) remove_file(path);
  return seconds;
}

// `seconds`: of the slowest rank; `raw`: by plain system calls, right before each.
Json entry(const char* way, const Config& config, double bytes, const std::vector<double>& seconds,
           const std::vector<double>& raw) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < seconds.size(); ++i) shares.push_back(raw[i] / seconds[i]);
  return {{"way", way},
          {"precision", config.precision},
          {"cells", config.grid.cells},
          {"bytes", bytes},
          {"write_s", spread_json(seconds)},
          {"raw_write_s", spread_json(raw)},
          {"bandwidth_bytes_per_s", bytes / median(seconds)},
          {"raw_share_percent", 100 * median(shares)},
          {"samples", {{"write_s", seconds}, {"raw_write_s", raw}}}};
}

template <class T>
std::vector<Json> measure_as(const Bench& bench, const Config& config) {
  const Communicator& world = bench.world;
  const ScratchFolder folder(bench.options.folder, world);
  const Box subdomain = decompose(config, world.size(), Backend::host).subdomain(world.rank());
  Field<T> field = all_or_throw(world, [&] { return Field<T>(bench.host, subdomain.extent(), 0); });
  // Random numbers, which no file system can compress.
  fill_random(field.view(), bench.options.seed + static_cast<std::uint64_t>(world.rank()), T(0), T(1));
  FileThread in_step("this waits for each file");
  SnapshotWriter writer(config, grid_of_snapshots(config), world, folder.path(), {}, in_step);

  const FieldView<const T> cells = field.view();
  const SnapshotMeta meta{0, 0, writer.fingerprint(cells, subdomain)};
  const double bytes = static_cast<double>(config.grid.cells.product()) * sizeof(T);  // of all ranks
  const auto once_raw = [&, path = folder.path() + "/raw"] {
    return raw_seconds(bench, path, {reinterpret_cast<const char*>(field.data()), field.bytes()},
                       static_cast<std::int64_t>(bytes));
  };
  std::vector<double> raw, written, proved;  // s
  once_raw();                                // the first file in a folder takes longer
  for (int i = 0; i < bench.options.repeats; ++i) {
    raw.push_back(once_raw());
    world.barrier();
    const std::string file = writer.write_file("snapshot.hdf", cells, subdomain, meta, std::nullopt);
    written.push_back(bench.slowest(writer.last_times().written));
    proved.push_back(bench.slowest(writer.last_times().proved));
    if (world.is_root()) remove_file(file);
  }
  for (const std::string& warning : in_step.warnings())
    if (std::ranges::count(bench.warnings, warning) == 0) bench.warnings.push_back(warning);
  return {entry("raw", config, bytes, raw, raw), entry("snapshot", config, bytes, written, raw),
          entry("snapshot, proved", config, bytes, proved, raw)};
}

BenchMemory file_memory(const Bench& bench, Int3 cells, Precision precision) {
  const double here = static_cast<double>(bench.world.split_by_host().size()) / bench.world.size();
  return {0, here * field_bytes(cells, 0, precision)};  // this host's share of the field
}

std::vector<Json> measure_files(const Bench& bench, Int3 cells, Precision precision) {
  Config config;
  config.name = "bench_io";
  config.grid.cells = cells;
  config.grid.spacing = Vector3{1, 1, 1};
  config.precision = precision;
  return with_number(precision, [&]<class T>(T) { return measure_as<T>(bench, config); });
}

}  // namespace

const Subject io_subject{[](Backend) -> std::vector<std::string_view> { return {}; }, file_memory,
                         measure_files};

}  // namespace isotherm
