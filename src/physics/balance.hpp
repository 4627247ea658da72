// Steady problems whose walls fix no temperature: all heat that comes in must go out, and the deck fixes the
// mean.
#pragma once

#include <array>

#include "config/config.hpp"
#include "core/field_view.hpp"

namespace isotherm {

// A steady problem with flux, insulated and periodic walls only: T + constant solves it as well as T.
bool mean_is_free(const Config& config);

// Heat of sources and flux walls, of one block or, after a sum over ranks, of the whole body.
struct HeatBalance {
  double net = 0;    // W into the body
  double gross = 0;  // W, sum of magnitudes
};

// Of this block's cells and walls (`is_wall`: by Face). Throws Error(deck) as paint does.
HeatBalance heat_balance(const Config& config, Box block, const std::array<bool, face_count>& is_wall);

// Throws Error(deck) when more than 1e-9 of the heat moved is left over, or when the deck fixes no mean.
void check_balance(const Config& config, const HeatBalance& whole_body);

// Adds `by` kelvin to every interior cell, in fp64, rounded to T.
template <class T>
void shift(FieldView<T> field, double by);

}  // namespace isotherm
