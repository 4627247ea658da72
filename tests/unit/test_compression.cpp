#include "output/field_files/compression.hpp"

#include <gtest/gtest.h>

#include "output/field_files/coarse_field.hpp"

namespace isotherm {
namespace {

FileGrid grid_of(Int3 cells, Precision precision, int level = 1) {
  FileGrid grid;
  grid.cells = cells;
  grid.precision = precision;
  grid.compression = level;
  return grid;
}

TEST(Compression, ChunksAreTheGridHalvedUntilTheyAreSmallEnough) {
  EXPECT_EQ(chunk_of(grid_of({512, 512, 512}, Precision::fp64)), (Int3{64, 64, 64}));
  EXPECT_EQ(chunk_of(grid_of({512, 512, 512}, Precision::fp32)), (Int3{128, 64, 64}));
  EXPECT_EQ(chunk_of(grid_of({1000, 1000, 1000}, Precision::fp64)), (Int3{63, 63, 63}));
  EXPECT_EQ(chunk_of(grid_of({4096, 1, 4096}, Precision::fp64)), (Int3{512, 1, 512}));
  EXPECT_EQ(chunk_of(grid_of({17, 23, 31}, Precision::fp64)), (Int3{17, 23, 31}));
  const Index huge = Index{1} << 40;
  EXPECT_EQ(chunk_of(grid_of({huge, 1, 1}, Precision::fp64)), (Int3{1 << 18, 1, 1}));
}

TEST(Compression, WithoutThereAreNoChunks) {
  const FileGrid grid = grid_of({512, 256, 128}, Precision::fp32, 0);
  EXPECT_EQ(chunk_of(grid), (Int3{1, 1, 1}));
  EXPECT_EQ(most_bytes_of_cells(grid), 512 * 256 * 128 * 4);
}

TEST(Compression, WhatDoesNotCompressHasItsRoom) {
  for (const Int3 cells : {Int3{512, 512, 512}, {1000, 999, 7}, {1, 1, 1}}) {
    const FileGrid grid = grid_of(cells, Precision::fp64);
    const Int3 chunk = chunk_of(grid);
    EXPECT_GE(most_bytes_of_cells(grid), up(cells, chunk).product() * (chunk.product() * 8 + 12));
    EXPECT_LE(static_cast<double>(most_bytes_of_cells(grid)),
              1.1 * 8 * static_cast<double>(cells.product()) + 512);
  }
}

TEST(Compression, ThisHdf5CanOrSaysWhyNot) {
  const std::string why = why_not_compressed();
  EXPECT_TRUE(why.empty() || why.find(" was built without the filter ") != why.npos) << why;
}

}  // namespace
}  // namespace isotherm
