// The words that a deck of the fuzz targets may name: some of each kind, so that no row need be linked.
#pragma once

#include "config/deck.hpp"

namespace isotherm::fuzz {

inline const KnownRows& known_rows() {
  static const KnownRows rows{
      .kernels = {{"reference", true, false}, {"naive", false, true}},
      .reductions = {{"reference", true, false}, {"fused", true, false}},
      .histograms = {{"reference", true, false}},
      .transports = {{"host", true}, {"mock", false}},
  };
  return rows;
}

}  // namespace isotherm::fuzz
