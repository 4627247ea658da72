// Sources that change in time, and double ellipsoids, computed where the field lives. Constant, box, gaussian
// and double_ellipsoid are products of profiles along the axes, whose cells sum to the power.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/device.hpp"
#include "core/field_view.hpp"
#include "kernels/source_product.hpp"
#include "physics/region_values.hpp"

namespace isotherm {

// An entry that is no formula, at a time (s): profiles by axis, power in W, the share within the domain.
struct PlacedSource {
  std::array<SourceProfile, 3> axis;
  double power = 0, inside = 1;
  Box cells;  // global: those that it reaches
};
// Throws Error(deck) where its power or place is not finite then, or a box is empty.
PlacedSource placed_source(const Config& config, const RegionValue& source, double t);

template <class T>
class VaryingSources {
 public:
  // `subdomain`: this rank's global cells. `config` and `device` must outlive it.
  VaryingSources(const Config& config, Device& device, Box subdomain);
  ~VaryingSources();

  bool vary_in_time() const;
  // The cells that entries without a formula reach at these times, in indices of the block.
  std::vector<Box> reached(std::span<const double> times) const;
  // Makes `field` (K per sweep of the unit weight) the sources at time t: `constant`, products, formulas. It
  // must hold what the last call left, or anything at the first. Throws as check() does.
  void update(double t, FieldView<const T> constant, FieldView<T> field, Stream stream);
  // Throws Error(deck) where a formula was not finite, as far as the device has come.
  void check() const;
  // The cells of `box` alone, of fields whose cell (0, 0, 0) is `first` of the block, without the formulas.
  void set_products(double t, FieldView<const T> constant, FieldView<T> field, Box box, Int3 first,
                    Stream stream) const;

 private:
  class FormulaSource;
  const Config& config_;
  Device& device_;
  Box subdomain_;
  double scale_;
  std::array<Buffer, 3> edges_;  // of the cells of axes where these differ, m
  std::vector<RegionValue> products_;
  std::vector<std::unique_ptr<FormulaSource>> formulas_;
  std::vector<Box> used_;  // that the last update has left
  bool is_first_ = true;
};

// The entries that VaryingSources sets, and the power at t = 0 in the domain of products, and of formulas.
std::vector<RegionValue> varying_sources(const Config& config);
// Do sources reach so few cells of an explicit problem that these are swept apart (solver/source_boxes.hpp)?
bool sources_in_boxes(const Config& config);
SourceTotals product_totals(const Config& config);
SourceTotals formula_totals(const Config& config, Box subdomain);  // of this part of it
// Fields of a block that all sources take, but for those of boxes.
std::size_t fields_of_sources(const Config& config);

}  // namespace isotherm
