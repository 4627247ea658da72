// What the loops of a sweep are made for: the stores that they take, and whether there is a source.
#pragma once

#include "kernels/host/rows.hpp"

namespace isotherm::host {

enum class Source { none, field };

// Streaming ones pay where the next sweep would not find the output in cache anyhow.
static inline Store choose_store(std::size_t bytes_of_output) {
  return 2 * bytes_of_output > last_level_cache_bytes() ? Store::streaming : Store::cached;
}

}  // namespace isotherm::host
