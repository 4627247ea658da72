#include "output/xdmf_series.hpp"

#include <gtest/gtest.h>

namespace isotherm {
namespace {

TEST(XdmfSeries, CountsZFirstAndGivesCornersNotCentres) {
  FileGrid grid;
  grid.stem = "a&b";
  grid.cells = {3, 4, 5};
  grid.origin = {-1, 0.5, 2};
  grid.spacing = {0.1, 0.2, 0.3};
  EXPECT_EQ(xdmf_text(grid, Precision::fp32, {{"a&b_00000007.hdf", 0.25}}),
            R"(<?xml version="1.0"?>
<Xdmf Version="3.0">
  <Domain>
    <Grid Name="a&amp;b" GridType="Collection" CollectionType="Temporal">
      <Grid Name="a&amp;b_00000007.hdf" GridType="Uniform">
        <Time Value="0.25"/>
        <Topology TopologyType="3DCoRectMesh" Dimensions="6 5 4"/>
        <Geometry GeometryType="ORIGIN_DXDYDZ">
          <DataItem Name="Origin" Dimensions="3" NumberType="Float" Precision="8" Format="XML">2 0.5 -1</DataItem>
          <DataItem Name="Spacing" Dimensions="3" NumberType="Float" Precision="8" Format="XML">0.3 0.2 0.1</DataItem>
        </Geometry>
        <Attribute Name="T" AttributeType="Scalar" Center="Cell">
          <DataItem Dimensions="5 4 3" NumberType="Float" Precision="4" Format="HDF">a&amp;b_00000007.hdf:/VTKHDF/PointData/T</DataItem>
        </Attribute>
      </Grid>
    </Grid>
  </Domain>
</Xdmf>
)");
}

}  // namespace
}  // namespace isotherm
