// Steady problems whose walls fix no temperature: all heat that comes in must go out, and the deck fixes the
// mean.
#pragma once

#include <array>
#include <cstdint>

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

// The sum of a field in fixed point, in two parts that ranks add up as uint64 (wrapping): integers add in any
// order, so every decomposition gets the same bits. A unit is 2^-44 K: exact from 256 K up, rounded to the
// nearest unit below. Right for |T| < 2^27 K (beyond it: Error(deck)), 2^40 cells and 2^16 ranks.
struct FixedPointSum {
  std::uint64_t high = 0;  // two's complement, of 2^48 units
  std::uint64_t low = 0;   // units
};

template <class T>
FixedPointSum fixed_point_sum(FieldView<const T> field);  // interior cells, in host memory
double mean(FixedPointSum whole_body, Index cells);       // K

// Adds `by` kelvin to every interior cell, in fp64, rounded to T.
template <class T>
void shift(FieldView<T> field, double by);

}  // namespace isotherm
