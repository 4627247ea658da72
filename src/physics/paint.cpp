#include "physics/paint.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "physics/cells.hpp"
#include "physics/dataset_reader.hpp"
#include "physics/exact.hpp"

namespace isotherm {
namespace {

double square(double x) {
  return x * x;
}

double distance_squared(const Vector3& a, const Vector3& b) {
  return square(a[0] - b[0]) + square(a[1] - b[1]) + square(a[2] - b[2]);
}

bool in_box(const Paint& box, const Vector3& at) {
  for (int axis = 0; axis < 3; ++axis) {
    const auto [low, high] = std::minmax(box.from[axis], box.to[axis]);
    if (!(low <= at[axis] && at[axis] < high)) return false;
  }
  return true;
}

bool in_cylinder(const Paint& cylinder, const Vector3& at) {
  const int axis = cylinder.axis;
  const double low = cylinder.centre[axis] - cylinder.length / 2, high = low + cylinder.length;
  if (!(low <= at[axis] && at[axis] < high)) return false;
  Vector3 beside = at;
  beside[axis] = cylinder.centre[axis];
  return distance_squared(beside, cylinder.centre) < square(cylinder.radius);
}

// One entry made ready to paint one block. A copy paints in another thread.
class Brush {
 public:
  Brush(const Config& config, const Paint& entry, std::string path, bool is_source, Box block)
      : entry_(&entry),
        path_(std::move(path)),
        is_source_(is_source),
        block_(block),
        formula_(entry.formula) {
    if (entry.shape == Shape::exact && !(exact_ = make_exact(config)))
      throw Error(ExitCode::deck,
                  fmt::format("{}: shape exact needs an exact solution (verify.solution is none); "
                              "name one there, or use another shape",
                              config.at(key())));
    if (entry.shape != Shape::dataset) return;
    try {
      dataset_ = std::make_shared<const std::vector<double>>(
          read_dataset_box(entry.file, entry.dataset, config.grid.cells, block));
    } catch (const Error& e) {
      throw Error(e.code(), fmt::format("{}: {}", config.at(key()), e.what()));
    }
  }
  Brush(const Brush& other)
      : entry_(other.entry_),
        path_(other.path_),
        is_source_(other.is_source_),
        block_(other.block_),
        formula_(other.formula_),
        exact_(other.exact_ ? other.exact_->clone() : nullptr),
        dataset_(other.dataset_) {}

  // A gaussian that replaced what stands under its endless tails would leave nothing of it.
  bool adds() const { return entry_->mode == PaintMode::add || entry_->shape == Shape::gaussian; }

  // What the entry says of the cell with this global index and centre; nothing where it does not cover it.
  std::optional<double> operator()(Int3 cell, const Vector3& at) const {
    const Paint& e = *entry_;
    const auto where = [&](bool inside) { return inside ? std::optional(e.value) : std::nullopt; };
    switch (e.shape) {
      case Shape::constant:
        return e.value;
      case Shape::box:
        return where(in_box(e, at));
      case Shape::sphere:
        return where(distance_squared(at, e.centre) < square(e.radius));
      case Shape::cylinder:
        return where(in_cylinder(e, at));
      case Shape::gaussian:
        return e.value * std::exp(-distance_squared(at, e.centre) / (2 * square(e.width)));
      case Shape::formula:
        return formula_(at[0], at[1], at[2]);
      case Shape::dataset:
        return dataset_value(cell);
      case Shape::exact:
        return is_source_ ? exact_->source(at[0], at[1], at[2]) : (*exact_)(at[0], at[1], at[2], 0);
    }
    return std::nullopt;
  }

  std::string key() const {  // of what says the value
    switch (entry_->shape) {
      case Shape::formula:
        return path_ + ".formula";
      case Shape::dataset:
        return path_ + ".dataset";
      case Shape::exact:
        return path_ + ".shape";
      default:
        return path_ + ".value";
    }
  }
  std::string what() const {
    switch (entry_->shape) {
      case Shape::formula:
        return formula_.text();
      case Shape::dataset:
        return fmt::format("{} of {}", entry_->dataset, entry_->file);
      default:
        return "the value";
    }
  }

 private:
  double dataset_value(Int3 cell) const {
    const Int3 at = cell - block_.lo, extent = block_.extent();
    return (*dataset_)[static_cast<std::size_t>(at.x + extent.x * (at.y + extent.y * at.z))];
  }

  const Paint* entry_;
  std::string path_;  // "initial.2"
  bool is_source_;
  Box block_;
  Expression formula_;
  std::unique_ptr<ExactField> exact_;
  std::shared_ptr<const std::vector<double>> dataset_;  // x fastest, this block's cells
};

struct BadCell {
  Int3 cell;
  std::size_t entry = 0;
  double value = 0;

  bool before(const BadCell& other) const {
    return std::tuple(cell.z, cell.y, cell.x) < std::tuple(other.cell.z, other.cell.y, other.cell.x);
  }
};

// One row of cells along x. Returns the first cell whose value, or whose stored value, is not finite.
template <class T>
std::optional<BadCell> paint_row(const CellCentres& centre, const std::vector<Brush>& brushes, double scale,
                                 Int3 first, Index cells, T* row) {
  Vector3 at = centre(first);
  for (Index i = 0; i < cells; ++i) {
    const Int3 cell{first.x + i, first.y, first.z};
    at[0] = centre(0, cell.x);
    double sum = 0;
    for (std::size_t n = 0; n < brushes.size(); ++n) {
      const std::optional<double> value = brushes[n](cell, at);
      if (!value) continue;
      if (!std::isfinite(*value)) return BadCell{cell, n, *value};
      sum = brushes[n].adds() ? sum + *value : *value;
    }
    row[i] = static_cast<T>(scale * sum);
    if (!std::isfinite(row[i])) return BadCell{cell, brushes.size() - 1, sum};
  }
  return std::nullopt;
}

}  // namespace

template <class T>
void paint(const Config& config, const std::vector<Paint>& entries, const std::string& key, double scale,
           Box block, FieldView<T> field) {
  std::vector<Brush> brushes;
  for (std::size_t n = 0; n < entries.size(); ++n)
    brushes.emplace_back(config, entries[n], fmt::format("{}.{}", key, n), key == "sources", block);

  const CellCentres centre(config);
  const Int3 extent = block.extent();
  // Copied before the threads start: what throws in a parallel region ends the program.
  const std::vector<std::vector<Brush>> copies(static_cast<std::size_t>(omp_get_max_threads()), brushes);
  std::optional<BadCell> first_bad;
#pragma omp parallel for collapse(2) schedule(static) num_threads(static_cast <int>(copies.size()))
  for (Index z = 0; z < extent.z; ++z) {
    for (Index y = 0; y < extent.y; ++y) {
      const auto& mine = copies[static_cast<std::size_t>(omp_get_thread_num())];
      const auto bad = paint_row(centre, mine, scale, block.lo + Int3{0, y, z}, extent.x, &field(0, y, z));
      if (!bad) continue;
#pragma omp critical(isotherm_paint)
      if (!first_bad || bad->before(*first_bad)) first_bad = bad;
    }
  }
  if (!first_bad) return;
  const Brush& brush = brushes[first_bad->entry];
  throw not_finite(config.at(brush.key()), brush.what(), first_bad->value, first_bad->cell,
                   centre(first_bad->cell), 0);
}

template void paint(const Config&, const std::vector<Paint>&, const std::string&, double, Box,
                    FieldView<float>);
template void paint(const Config&, const std::vector<Paint>&, const std::string&, double, Box,
                    FieldView<double>);

void check_entries(const Config& config, const std::vector<Paint>& entries, const std::string& key) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    Brush(config, entries[i], fmt::format("{}.{}", key, i), false, {});
}

std::vector<Paint> all_sources(const Config& config) {
  std::vector<Paint> sources = config.sources;
  if (config.verify.solution == ExactSolution::manufactured) {
    Paint needed;
    needed.shape = Shape::exact;
    needed.mode = PaintMode::add;
    sources.push_back(needed);
  }
  return sources;
}

}  // namespace isotherm
