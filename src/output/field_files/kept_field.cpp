#include "output/field_files/kept_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "core/text.hpp"
#include "output/field_files/dense_copy.hpp"
#include "output/field_files/file_grid.hpp"
#include "output/field_files/slabs.hpp"

namespace isotherm {
namespace {

constexpr Index slab_bytes = Index{64} << 20;  // of a message at most, and of what arrives at once
constexpr Index nowhere = std::numeric_limits<Index>::max();

// What one rank has found.
struct Found {
  Index cells = 0, first = nowhere;  // index over the whole grid
  double expected = 0, now = 0;
};

// `expected` and `slab` in cells of the grid; `field` of the block that begins at `origin`.
template <class T>
void look_through(FieldView<const T> field, Int3 origin, Box slab, const T* expected, Int3 grid,
                  Found& found) {
  for (Index z = slab.lo.z; z < slab.hi.z; ++z) {
    for (Index y = slab.lo.y; y < slab.hi.y; ++y) {
      for (Index x = slab.lo.x; x < slab.hi.x; ++x, ++expected) {
        const T now = field(x - origin.x, y - origin.y, z - origin.z);
        if (std::memcmp(&now, expected, sizeof(T)) == 0) continue;
        ++found.cells;
        const Index index = x + grid.x * (y + grid.y * z);
        if (index > found.first) continue;
        found.first = index;
        found.expected = static_cast<double>(*expected);
        found.now = static_cast<double>(now);
      }
    }
  }
}

// The value of the one rank that has it, in its bits.
double from_one(const Communicator& communicator, bool mine, double value) {
  const std::uint64_t bits = mine ? std::bit_cast<std::uint64_t>(value) : 0;
  return std::bit_cast<double>(communicator.all_reduce(bits, ReduceOp::sum));
}

FieldDifference of_all(const Communicator& communicator, const Found& mine, Int3 grid) {
  const Index first = communicator.all_reduce(mine.first, ReduceOp::min);
  FieldDifference all;
  all.cells = communicator.all_reduce(mine.cells, ReduceOp::sum);
  if (first != nowhere) all.first = {first % grid.x, first / grid.x % grid.y, first / (grid.x * grid.y)};
  const bool is_mine = mine.cells > 0 && mine.first == first;
  all.expected = from_one(communicator, is_mine, mine.expected);
  all.found = from_one(communicator, is_mine, mine.now);
  return all;
}

}  // namespace

std::string text_of(const FieldDifference& d, Int3 grid) {
  return fmt::format("{} of {} cells; the first, ({}, {}, {}), is {} and should be {}", grouped(d.cells),
                     grouped(grid.product()), d.first.x, d.first.y, d.first.z, d.found, d.expected);
}

template <class T>
KeptField<T>::KeptField(const Communicator& communicator, const BlockOfField<T>& field)
    : communicator_(communicator),
      blocks_(all_gather(communicator, field.block)),
      cells_(static_cast<std::size_t>(field.block.cells())),
      fingerprint_(field.fingerprint) {
  copy_to_dense(field.cells, field.cells.interior(), cells_.data());
}

template <class T>
std::optional<FieldDifference> KeptField<T>::compare(const BlockOfField<T>& field) const {
  if (field.fingerprint == fingerprint_) return std::nullopt;
  const std::vector<Box> blocks = all_gather(communicator_, field.block);
  const auto me = static_cast<std::size_t>(communicator_.rank());
  Int3 grid;
  std::vector<std::vector<Box>> slabs;  // of each rank, as it has the grid now
  std::size_t rounds = 0;
  for (const Box& block : blocks) {
    for (int axis = 0; axis < 3; ++axis) grid[axis] = std::max(grid[axis], block.hi[axis]);
    slabs.push_back(cut_into_slabs(block, {1, 1, 1}, slab_cells<T>(slab_bytes)));
    rounds = std::max(rounds, slabs.back().size());
  }
  const FieldView<const T> kept = dense_view(cells_.data(), blocks_[me].extent());
  SlabExchange<T> exchange(communicator_, blocks_);
  std::vector<T> expected(static_cast<std::size_t>(largest(slabs[me])));
  Found found;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Box> wanted;
    for (const std::vector<Box>& of_rank : slabs)
      wanted.push_back(round < of_rank.size() ? of_rank[round] : Box{});
    exchange.assemble(kept, wanted, expected.data());
    look_through(field.cells, blocks[me].lo, wanted[me], expected.data(), grid, found);
  }
  return of_all(communicator_, found, grid);
}

template class KeptField<float>;
template class KeptField<double>;

}  // namespace isotherm
