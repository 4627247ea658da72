#include "app/subcommands.hpp"

#include <cmath>
#include <filesystem>

#include "core/text.hpp"
#include "output/console/console.hpp"
#include "output/field_files/snapshot.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/records/run_record.hpp"
#include "physics/dataset_reader.hpp"

namespace isotherm {
namespace {

// The printed cell is of the run's grid; in a coarse file, the first of the cells whose mean is printed.
void print_extreme(const char* title, const NumberedTemperature& found, const SnapshotHeader& header) {
  const Int3 cell = found.cell(header.cells);
  EndState::Extreme extreme{found.value + 0.0, {}, {}};
  for (int axis = 0; axis < 3; ++axis) {
    extreme.cell[axis] = header.first_cell[axis] + cell[axis] * header.factor[axis];
    extreme.position_m[axis] = header.centre(axis, cell[axis]);
  }
  fmt::print("{:<14}{}{}\n", title, extreme_text(extreme),
             header.factor == Int3{1, 1, 1} ? "" : " and on (the mean of a coarse cell)");
}

// Prints the extremes of the field and, for the last field of a run, the heat in the run.json next to it.
void print_answer(const std::string& path, const SnapshotHeader& header,
                  const TemperatureExtremes& extremes) {
  if (extremes.any()) {
    print_extreme("highest", extremes.highest, header);
    print_extreme("lowest", extremes.lowest, header);
  }
  if (extremes.nan_cells > 0)
    fmt::print("not a number  {} (cells of voids are)\n", counted(extremes.nan_cells, "cell"));
  const auto record = std::filesystem::path(path).parent_path() / "run.json";
  for (const auto& [title, content] : read_heat_lines(record, header.meta.fingerprint))
    fmt::print("{:<14}{}\n", title, content);
}

// For a part: prints the position of its cells in the grid of the run.
void print_place(const FileGrid& grid) {
  if (grid.cells == grid.grid_cells) return;
  const auto last = [&](int axis) {
    return grid.first_cell[axis] + grid.cells[axis] * grid.factor[axis] - 1;
  };
  fmt::print("of the run's  {}: cells ({}, {}, {}) to ({}, {}, {})", extent_text(grid.grid_cells),
             grid.first_cell.x, grid.first_cell.y, grid.first_cell.z, last(0), last(1), last(2));
  if (grid.factor == Int3{1, 1, 1}) return fmt::print("\n");
  fmt::print(", {} in one\n", extent_text(grid.factor));
}

// "20 x 1e-06 m, 40 x 2.5e-05 m": cells of one size, but for rounding, in a row.
std::string sizes_text(const std::vector<double>& edges) {
  constexpr double rounding = 1e-6;  // of a size
  std::string text;
  for (std::size_t i = 0, end = 0; i + 1 < edges.size(); i = end) {
    const double size = edges[i + 1] - edges[i];
    while (end + 1 < edges.size() && std::abs(edges[end + 1] - edges[end] - size) <= rounding * size) ++end;
    if (end == i) ++end;
    text += fmt::format("{}{} x {:g} m", i == 0 ? "" : ", ", end - i, size);
  }
  return text;
}

void print_summary(const std::string& path, const SnapshotHeader& header) {
  const Vector3 &h = header.spacing, &o = header.origin;
  const SnapshotProvenance& from = header.provenance;
  fmt::print("file          {}\n", path);
  fmt::print("format        {}, version {}{}\n", header.kind, header.format,
             header.format > 1 && !header.is_image() ? "" : "; VTKHDF 1.0");
  fmt::print("cells         {} = {} (x y z)\n", extent_text(header.cells), header.cells.product());
  print_place(header);
  if (!header.is_graded()) fmt::print("spacing       {:g} x {:g} x {:g} m\n", h[0], h[1], h[2]);
  for (std::size_t axis = 0; axis < 3 && header.is_graded(); ++axis)
    fmt::print("{:<14}{}\n", fmt::format("spacing {}", "xyz"[axis]), sizes_text(header.edges[axis]));
  fmt::print("origin        ({:g}, {:g}, {:g}) m, the corner of the box\n", o[0], o[1], o[2]);
  fmt::print("time          {:g} s\n", header.meta.time);
  fmt::print("sweep         {}\n", header.meta.sweep);
  if (const auto& state = header.checkpoint; state && state->last_residual)
    fmt::print(
        "residual      {:.3e} K, of sweep {}, the last of {}; resume with isotherm run DECK --restart {}\n",
        *state->last_residual, state->last_checked, counted(state->checks, "check"), shell_word(path));
  fmt::print("precision     {}\n", word(header.precision));
  fmt::print("written by    isotherm {} ({})\n", from.version, from.git_revision);
  fmt::print("device        {}\n", from.device);
  fmt::print("kernel        {}\n", from.kernel);
  fmt::print("MPI           {}\n", from.mpi);
  fmt::print("HDF5          {}\n", from.hdf5);
}

void print_compression(const std::string& path, const SnapshotHeader& header) {
  const DatasetReader reader(path, temperature_dataset);
  if (reader.chunk() == Int3{1, 1, 1}) return;
  fmt::print("compressed    {} of cells in {}\n", human_bytes(header.cell_bytes()),
             human_bytes(reader.stored_bytes()));
}

}  // namespace

int print_info(const CommandLine& command) {
  const std::string& path = command.file;
  const SnapshotHeader header = read_snapshot_header(path);
  if (command.print_deck) {
    print_now(header.provenance.deck);
    return 0;
  }
  print_summary(path, header);
  TemperatureExtremes extremes;
  const std::uint64_t found =
      fingerprint_on_disk(path, {{0, 0, 0}, header.cells}, header.cells, header.precision,
                          SnapshotWriter::default_slab_bytes, &extremes);
  print_answer(path, header, extremes);
  print_compression(path, header);
  const bool same = found == header.meta.fingerprint;
  fmt::print("fingerprint   {} ({} the cells in the file)\n", fingerprint_text(header.meta.fingerprint),
             same ? "recomputed from" : "NOT that of");
  print_now("");  // flushes stdout
  if (!same)
    throw error_of(ExitCode::deck,
                   "{}: the cells have fingerprint {}, the file says {} (a value was changed after it was "
                   "written); use another copy",
                   path, fingerprint_text(found), fingerprint_text(header.meta.fingerprint));
  return 0;
}

}  // namespace isotherm
