// Paints the deck's lists of shapes (initial, sources) onto the cells of one block.
//
// A shape covers a cell if the cell's centre is inside: boxes and the ends of cylinders are half-open,
// from <= x < to, so that neighbours that share a face cover each cell once; spheres and the sides of
// cylinders are open. constant, gaussian, formula, dataset and exact cover every cell. Shapes do not wrap
// around periodic faces.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// Adds or sets each shape in order at cell centres in fp64, then stores `scale` times the sum, rounded to T.
// `field` is in host memory; `block` holds its global cells. Ghosts are left alone. `key`: "initial" or
// "sources", where shape `exact` is the exact solution at t = 0 and the source it needs. A cell's value
// depends on its global index only. Throws Error(deck) with entry, cell and value where a formula or dataset
// is not finite, or a dataset does not fit.
template <class T>
void paint(const Config& config, const std::vector<Paint>& entries, const std::string& key, double scale,
           Box block, FieldView<T> field);

// Throws what paint() would throw before it looks at a cell: datasets that are missing or of another shape.
void check_entries(const Config& config, const std::vector<Paint>& entries, const std::string& key);

// The deck's sources and, for a manufactured solution, the source that it needs: what to paint as "sources".
// Empty: the problem has none.
std::vector<Paint> all_sources(const Config& config);

}  // namespace isotherm
