#include <cstdint>
#include <vector>

#include "config/materials.hpp"
#include "core/hdf5_file.hpp"
#include "output/field_files/cell_boxes.hpp"
#include "output/field_files/snapshot_file.hpp"
#include "output/safe_file.hpp"
#include "physics/region_materials.hpp"

namespace isotherm {
namespace {

void write_materials(const Config& config, const std::string& path, Watchdog& watchdog) {
  constexpr Index most_cells = Index{1} << 24;  // held at a time
  FileGrid grid = grid_of_snapshots(config);
  grid.compression = why_not_compressed().empty() ? 1 : 0;
  Hdf5List creation(H5Pcreate(H5P_FILE_CREATE)), access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_obj_track_times(creation.get(), false);
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_file_locking(access.get(), false, true);
  const Hdf5File file(
      check_hdf5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "H5Fcreate", path));
  std::string names;
  for (const NamedMaterial& material : config.materials) names += material.name + "\n";
  write_text_dataset(file.get(), "names", names.append(void_word), true, path);
  const Hdf5Object dataset(create_cells(file.get(), "material", H5T_STD_U8LE, grid, path));
  const Hdf5Space in_file = hdf5_space(grid.cells);
  RegionMaterials regions(config);
  std::vector<std::uint8_t> cells;
  for (const Box& slab : cut_into_slabs({{0, 0, 0}, grid.cells}, chunk_of(grid), most_cells)) {
    watchdog.phase("writing materials");
    regions.load(slab);
    cells.resize(static_cast<std::size_t>(slab.cells()));
    const Int3 n = slab.extent();
    for (Index z = 0; z < n.z; ++z)
      for (Index y = 0; y < n.y; ++y)
        regions.row(slab.lo.x, slab.lo.y + y, slab.lo.z + z,
                    {&cells[static_cast<std::size_t>(n.x * (y + n.y * z))], static_cast<std::size_t>(n.x)});
    const Hdf5Space in_memory = hdf5_space(n);
    check_hdf5(select_box(in_file.get(), slab), "H5Sselect_hyperslab", path);
    check_hdf5(
        H5Dwrite(dataset.get(), H5T_NATIVE_UINT8, in_memory.get(), in_file.get(), H5P_DEFAULT, cells.data()),
        "H5Dwrite", path);
  }
  check_hdf5(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), "H5Fflush", path);
}

}  // namespace

std::string material_file_name(const Config& config) {
  return config.materials.empty() || !has_several_materials(config) ? "" : config.name + "_material.h5";
}

void write_material_file(const Config& config, const std::string& path, Watchdog& watchdog) {
  const std::string part = path + ".part";
  create_empty_file(part);
  try {
    write_materials(config, part, watchdog);
    sync_file(part);
    publish_file(part, path);
  } catch (...) {
    remove_file(part);
    throw;
  }
}

}  // namespace isotherm
