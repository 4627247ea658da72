#include "output/xdmf_series.hpp"

#include <fmt/format.h>

#include "output/safe_file.hpp"
#include "output/snapshot_header.hpp"

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

std::string grid_text(const FileGrid& grid, Precision stored, const SeriesEntry& entry) {
  const Int3 n = grid.cells;
  const std::string file = escaped_for_xml(entry.file);
  return fmt::format("      <Grid Name=\"{}\" GridType=\"Uniform\">\n        <Time Value=\"{}\"/>\n", file,
                     entry.time) +
         fmt::format("        <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{} {} {}\"/>\n", n.z + 1,
                     n.y + 1, n.x + 1) +
         "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n" + triple("Origin", grid.origin) +
         triple("Spacing", grid.spacing) + "        </Geometry>\n" +
         "        <Attribute Name=\"T\" AttributeType=\"Scalar\" Center=\"Cell\">\n" +
         fmt::format(
             "          <DataItem Dimensions=\"{} {} {}\" NumberType=\"Float\" Precision=\"{}\" "
             "Format=\"HDF\">{}:{}</DataItem>\n",
             n.z, n.y, n.x, stored == Precision::fp32 ? 4 : 8, file, temperature_dataset) +
         "        </Attribute>\n      </Grid>\n";
}

}  // namespace

std::string xdmf_text(const FileGrid& grid, Precision stored, const std::vector<SeriesEntry>& entries) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n  <Domain>\n    <Grid Name=\"{}\" "
      "GridType=\"Collection\" CollectionType=\"Temporal\">\n",
      escaped_for_xml(grid.stem));
  for (const SeriesEntry& entry : entries) text += grid_text(grid, stored, entry);
  return text + "    </Grid>\n  </Domain>\n</Xdmf>\n";
}

void write_xdmf(const std::string& path, const FileGrid& grid, Precision stored,
                const std::vector<SeriesEntry>& entries) {
  write_file_atomically(path, xdmf_text(grid, stored, entries));
}

}  // namespace isotherm
