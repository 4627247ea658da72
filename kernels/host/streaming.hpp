// Which stores a sweep takes.
#pragma once

#include "kernels/host/rows.hpp"

namespace isotherm::host {

// Streaming ones pay where the next sweep would not find the output in cache anyhow.
static inline Store choose_store(std::size_t bytes_of_output) {
  return 2 * bytes_of_output > last_level_cache_bytes() ? Store::streaming : Store::cached;
}

}  // namespace isotherm::host
