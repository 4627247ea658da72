#include "output/field_files/snapshot_series.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

// An ulp of single precision beyond the corners, so that points on the surface are within when they are
// rounded.
TEST(XdmfSeries, CountsZFirstAndGivesCornersNotCentres) {
  FileGrid grid;
  grid.stem = "a&b";
  grid.cells = {3, 4, 5};
  grid.origin = {-1, 0.5, 2};
  grid.spacing = {0.1, 0.2, 0.3};
  EXPECT_EQ(xdmf_text(grid, {{"a&b_00000007.hdf", 0.25, "/temperature", Precision::fp32}}),
            R"(<?xml version="1.0"?>
<Xdmf Version="3.0">
  <Domain>
    <Grid Name="a&amp;b" GridType="Collection" CollectionType="Temporal">
      <Grid Name="a&amp;b_00000007.hdf" GridType="Uniform">
        <Time Value="0.25"/>
        <Topology TopologyType="3DCoRectMesh" Dimensions="6 5 4"/>
        <Geometry GeometryType="ORIGIN_DXDYDZ">
          <DataItem Name="Origin" Dimensions="3" NumberType="Float" Precision="8" Format="XML">1.999999761581421 0.4999999403953552 -1.0000001192092896</DataItem>
          <DataItem Name="Spacing" Dimensions="3" NumberType="Float" Precision="8" Format="XML">0.30000013113021884 0.20000005364418055 0.10000006755193087</DataItem>
        </Geometry>
        <Attribute Name="temperature [K]" AttributeType="Scalar" Center="Cell">
          <DataItem Dimensions="5 4 3" NumberType="Float" Precision="4" Format="HDF">a&amp;b_00000007.hdf:/temperature</DataItem>
        </Attribute>
      </Grid>
    </Grid>
  </Domain>
</Xdmf>
)");
}

TEST(XdmfSeries, ACornerAtZeroStaysThereAndFarOnesMoveLessThanACell) {
  FileGrid grid;
  grid.cells = {4, 1, 1};
  grid.origin = {0, 1e9, -1e9};
  grid.spacing = {0.25, 0.25, 0.25};
  const std::string text = xdmf_text(grid, {{"a_00000007.hdf", 0, "/temperature", Precision::fp64}});
  EXPECT_NE(text.find(">-1000000000.00025 999999999.99975 0</DataItem>"), std::string::npos) << text;
}

}  // namespace
}  // namespace isotherm
