#include "output/field_files/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/agree.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "output/run_directory.hpp"
#include "output/safe_file.hpp"

namespace isotherm {
namespace {

namespace fs = std::filesystem;

constexpr double assumed_rate = 1e9;  // bytes per second, until a file was written

double assumed_seconds(const Config& config) {
  const int cell_bytes = config.precision == Precision::fp32 ? 4 : 8;
  return static_cast<double>(config.grid.cells.product()) * cell_bytes / assumed_rate;
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

}  // namespace

CheckpointWriter::CheckpointWriter(const Config& config, const Communicator& communicator, std::string folder,
                                   SnapshotProvenance provenance, FileThread* files)
    : run_name_(config.name),
      folder_(std::move(folder)),
      keep_(config.output.checkpoint.keep),
      communicator_(communicator),
      files_(config, grid_of_checkpoints(config), communicator, folder_, std::move(provenance), files),
      seconds_(assumed_seconds(config)) {}

template <class T>
std::string CheckpointWriter::write(FieldView<const T> field, Box block, const SnapshotMeta& meta,
                                    const CheckpointState& state) {
  const Timer timer;
  const std::string name = checkpoint_name(run_name_, meta.sweep);
  const std::string path = files_.write_file(name, field, block, meta, state);
  agree(communicator_, [&] {
    if (!communicator_.is_root()) return;
    write_file_atomically(in_folder(folder_, "latest"), name + "\n");
    for (const std::int64_t sweep : superfluous(find_checkpoints(folder_, run_name_), meta.sweep, keep_))
      remove_file(in_folder(folder_, checkpoint_name(run_name_, sweep)));
    const std::string aside = std::string(checkpoint_suffix).append(aside_suffix);
    for (const std::string& file : find_run_files(folder_, run_name_))
      if (sweep_of_file(file, run_name_, aside)) remove_file(in_folder(folder_, file));
  });
  seconds_ = communicator_.all_reduce(timer.seconds(), ReduceOp::max);
  return path;
}

std::vector<std::int64_t> superfluous(std::vector<std::int64_t> sweeps, std::int64_t written, int keep) {
  std::ranges::sort(sweeps, std::greater<>{});
  std::vector<std::int64_t> all;
  int kept = 0;
  for (const std::int64_t sweep : sweeps)
    if (sweep > written || ++kept > keep) all.push_back(sweep);
  return all;
}

std::vector<std::int64_t> find_checkpoints(const std::string& folder, const std::string& run_name) {
  std::vector<std::int64_t> sweeps;
  for (const std::string& file : find_run_files(folder, run_name))
    if (const auto sweep = sweep_of_file(file, run_name, checkpoint_suffix)) sweeps.push_back(*sweep);
  std::ranges::sort(sweeps, std::greater<>{});
  return sweeps;
}

void set_aside_later(const std::string& folder, const std::string& run_name, std::int64_t sweep) {
  for (const std::int64_t later : find_checkpoints(folder, run_name)) {
    const std::string file = in_folder(folder, checkpoint_name(run_name, later));
    if (later > sweep) publish_file(file, file + std::string(aside_suffix));
  }
}

SnapshotHeader read_checkpoint_header(const std::string& path) {
  SnapshotHeader header = read_snapshot_header(path);
  if (!header.checkpoint)
    throw Error(ExitCode::deck,
                path +
                    ": a snapshot (it has the field, and not what a run needs beside it to go "
                    "on); name a checkpoint, a file *.checkpoint.hdf");
  return header;
}

template std::string CheckpointWriter::write<float>(FieldView<const float>, Box, const SnapshotMeta&,
                                                    const CheckpointState&);
template std::string CheckpointWriter::write<double>(FieldView<const double>, Box, const SnapshotMeta&,
                                                     const CheckpointState&);

}  // namespace isotherm
