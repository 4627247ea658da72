#include "physics/stored_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/error.hpp"
#include "physics/dataset_reader.hpp"

namespace isotherm {
namespace {

constexpr Index slab_bytes = Index{64} << 20;

}  // namespace

template <class T>
void read_field(const StoredField& stored, Int3 cells, Box block, FieldView<T> field) {
  const DatasetReader reader(stored.file, stored.dataset);
  const StoredType wanted = std::is_same_v<T, float> ? StoredType::fp32 : StoredType::fp64;
  if (!(reader.cells() == cells) || reader.type() != wanted)
    throw Error(ExitCode::deck,
                fmt::format("{}: {} has not the cells or the precision of the deck; name another file",
                            stored.file, stored.dataset));
  const Int3 extent = block.extent();
  const Index rows = std::clamp<Index>(slab_bytes / (extent.x * static_cast<Index>(sizeof(T))), 1, extent.y);
  std::vector<T> dense(static_cast<std::size_t>(extent.x * rows));
  for (Index z = 0; z < extent.z; ++z) {
    for (Index y = 0; y < extent.y; y += rows) {
      const Index here = std::min(rows, extent.y - y);
      reader.read({block.lo + Int3{0, y, z}, block.lo + Int3{extent.x, y + here, z + 1}}, dense.data());
      for (Index row = 0; row < here; ++row)
        std::copy_n(dense.data() + row * extent.x, extent.x, &field(0, y + row, z));
    }
  }
}

template void read_field<float>(const StoredField&, Int3, Box, FieldView<float>);
template void read_field<double>(const StoredField&, Int3, Box, FieldView<double>);

}  // namespace isotherm
