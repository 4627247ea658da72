#include "output/xdmf_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace isotherm {
namespace {

std::string escaped_for_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string triple(const char* name, const Vector3& v) {  // z first, as all that XDMF counts
  return fmt::format(
      "          <DataItem Name=\"{}\" Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\" "
      "Format=\"XML\">{} {} "
      "{}</DataItem>\n",
      name, v[2], v[1], v[0]);
}

struct CellBox {
  Vector3 origin, spacing;
};

// The box of the cells, wider by an ulp of single precision. The points by which ParaView and others probe a
// field are of that precision, and where one is rounded out of the box VTK finds no cell (5.11; VTK 9.7):
// without it half of all surfaces had no value.
CellBox box_with_its_surface(const FileGrid& grid) {
  constexpr double most = 1e-3;  // of a cell, where the origin is far away
  CellBox box;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const auto cells = static_cast<double>(grid.cells[axis]);
    const double low = grid.origin[a], high = low + cells * grid.spacing[a];
    const auto margin = [&](double edge) {
      return std::min(std::ldexp(std::abs(edge), -23), most * grid.spacing[a]);
    };
    constexpr double rounding = 1e-15;  // of the spacing times the cells
    box.origin[a] = low - margin(low);
    box.spacing[a] = (high + margin(high) - box.origin[a]) * (1 + rounding) / cells;
  }
  return box;
}

std::string grid_text(const FileGrid& grid, const SeriesEntry& entry) {
  const Int3 n = grid.cells;
  const CellBox box = box_with_its_surface(grid);
  const std::string file = escaped_for_xml(entry.file);
  return fmt::format("      <Grid Name=\"{}\" GridType=\"Uniform\">\n        <Time Value=\"{}\"/>\n", file,
                     entry.time) +
         fmt::format("        <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{} {} {}\"/>\n", n.z + 1,
                     n.y + 1, n.x + 1) +
         "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n" + triple("Origin", box.origin) +
         triple("Spacing", box.spacing) + "        </Geometry>\n" +
         "        <Attribute Name=\"temperature [K]\" AttributeType=\"Scalar\" Center=\"Cell\">\n" +
         fmt::format(
             "          <DataItem Dimensions=\"{} {} {}\" NumberType=\"Float\" Precision=\"{}\" "
             "Format=\"HDF\">{}:{}</DataItem>\n",
             n.z, n.y, n.x, entry.stored == Precision::fp32 ? 4 : 8, file, entry.dataset) +
         "        </Attribute>\n      </Grid>\n";
}

}  // namespace

std::string xdmf_text(const FileGrid& grid, const std::vector<SeriesEntry>& entries) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n  <Domain>\n    <Grid Name=\"{}\" "
      "GridType=\"Collection\" CollectionType=\"Temporal\">\n",
      escaped_for_xml(grid.stem));
  for (const SeriesEntry& entry : entries) text += grid_text(grid, entry);
  return text + "    </Grid>\n  </Domain>\n</Xdmf>\n";
}

}  // namespace isotherm
