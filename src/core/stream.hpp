// What kernels know of a device: of which kind it is, and the handles of its work. No more, so that what nvcc
// compiles includes no <memory>: that alone would take a third of its time.
#pragma once

#include <cstddef>

#include "core/enum_words.hpp"

namespace isotherm {

enum class Backend { host, cuda };
ISOTHERM_WORDS(Backend, "cpu", "cuda");

// Rows of a field start on such bytes: a processor's cache line, a GPU's memory transaction.
constexpr std::ptrdiff_t row_alignment(Backend backend) {
  return backend == Backend::host ? 64 : 128;
}

// A queue of work in order. On the host work is done at once and the handle is null.
struct Stream {
  void* native = nullptr;
};
struct Event {
  void* native = nullptr;
};

// Work that was recorded once and is queued again as a whole: one launch for many.
struct Graph {
  void* native = nullptr;
};

}  // namespace isotherm
