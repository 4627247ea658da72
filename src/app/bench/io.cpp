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

template <class T>
class IoBench {
 public:
  IoBench(const Bench& bench, const Config& config)
      : bench_(bench),
        world_(bench.world),
        config_(config),
        folder_(bench.options.folder, world_),
        subdomain_(decompose(config, world_.size(), Backend::host).subdomain(world_.rank())),
        field_(all_or_throw(world_, [&] { return Field<T>(bench.host, subdomain_.extent(), 0); })),
        writer_(config, grid_of_snapshots(config), world_, folder_.path(), {}, in_step_) {
    // Random numbers, which no file system can compress.
    fill_random(field_.view(), bench.options.seed + static_cast<std::uint64_t>(world_.rank()), T(0), T(1));
  }

  std::vector<Json> measure() {
    std::vector<double> raw, written, proved;  // s
    const SnapshotMeta meta{0, 0, writer_.fingerprint(cells(), subdomain_)};
    once_raw();  // the first file in a folder takes longer
    for (int i = 0; i < bench_.options.repeats; ++i) {
      raw.push_back(once_raw());
      const SnapshotTimes times = once_snapshot(meta);
      written.push_back(times.written);
      proved.push_back(times.proved);
    }
    return {entry("raw", raw, raw), entry("snapshot", written, raw), entry("snapshot, proved", proved, raw)};
  }

  const std::vector<std::string>& warnings() const { return in_step_.warnings(); }

 private:
  FieldView<const T> cells() const { return field_.view(); }

  double bytes() const {  // of all ranks
    return static_cast<double>(config_.grid.cells.product()) * sizeof(T);
  }

  // `seconds`: of the slowest rank; `raw`: by plain system calls, right before each.
  Json entry(const char* way, const std::vector<double>& seconds, const std::vector<double>& raw) const {
    std::vector<double> shares;
    for (std::size_t i = 0; i < seconds.size(); ++i) shares.push_back(raw[i] / seconds[i]);
    return {{"way", way},
            {"precision", config_.precision},
            {"cells", config_.grid.cells},
            {"bytes", bytes()},
            {"write_s", spread_json(seconds)},
            {"raw_write_s", spread_json(raw)},
            {"bandwidth_bytes_per_s", bytes() / median(seconds)},
            {"raw_share_percent", 100 * median(shares)},
            {"samples", {{"write_s", seconds}, {"raw_write_s", raw}}}};
  }

  // Each rank writes one part of the file: the bytes of all cells, divided evenly among the ranks.
  double once_raw() const {
    const std::string path = (std::filesystem::path(folder_.path()) / "raw").string();
    const auto all = static_cast<std::int64_t>(bytes());
    const std::int64_t first = all * world_.rank() / world_.size(),
                       end = all * (world_.rank() + 1) / world_.size();
    const std::string_view mine(reinterpret_cast<const char*>(field_.data()), field_.bytes());
    const double time = bench_.seconds([&] {
      on_root(world_, [&] { create_empty_file(path); });
      all_or_throw(world_, [&] { write_part(path, mine, first, end); });
    });
    if (world_.is_root()) remove_file(path);
    return time;
  }

  // If subdomains are uneven, a rank's share may exceed its own bytes: it then writes some of them twice.
  static void write_part(const std::string& path, std::string_view bytes, std::int64_t at, std::int64_t end) {
    while (at < end) {
      const auto piece = bytes.substr(0, static_cast<std::size_t>(end - at));
      write_raw(path, piece, at, SnapshotWriter::default_slab_bytes);
      at += static_cast<std::int64_t>(piece.size());
    }
  }

  SnapshotTimes once_snapshot(const SnapshotMeta& meta) {
    world_.barrier();
    const std::string file = writer_.write_file("snapshot.hdf", cells(), subdomain_, meta, std::nullopt);
    const SnapshotTimes mine = writer_.last_times();
    if (world_.is_root()) remove_file(file);
    return {bench_.slowest(mine.written), bench_.slowest(mine.proved)};
  }

  const Bench& bench_;
  const Communicator& world_;
  const Config& config_;
  ScratchFolder folder_;
  Box subdomain_;
  Field<T> field_;
  FileThread in_step_{"this waits for each file"};
  SnapshotWriter writer_;
};

Config config_of(Int3 cells, Precision precision) {
  Config config;
  config.name = "bench_io";
  config.grid.cells = cells;
  config.grid.spacing = Vector3{1, 1, 1};
  config.precision = precision;
  return config;
}

BenchMemory file_memory(const Bench& bench, Int3 cells, Precision precision) {
  const double here = static_cast<double>(bench.world.split_by_host().size()) / bench.world.size();
  return {0, here * field_bytes(cells, 0, precision)};  // this host's share of the field
}

std::vector<Json> measure_files(const Bench& bench, Int3 cells, Precision precision) {
  const Config config = config_of(cells, precision);
  return with_number(precision, [&]<class T>(T) {
    IoBench<T> files(bench, config);
    auto measured = files.measure();
    for (const std::string& warning : files.warnings())
      if (std::ranges::count(bench.warnings, warning) == 0) bench.warnings.push_back(warning);
    return measured;
  });
}

}  // namespace

const Subject io_subject{[](Backend) -> std::vector<std::string_view> { return {}; }, file_memory,
                         measure_files};

}  // namespace isotherm
