// The part of a device that kernels know: its kind, and the handles of its work. No more, so that files for
// nvcc do not include <memory>: that alone would take a third of their compile time.
#pragma once

#include <cstddef>

#include "core/enum_words.hpp"

namespace isotherm {

enum class Backend { host, cuda };
ISOTHERM_WORDS(Backend, "cpu", "cuda");

// The alignment of rows of a field, in bytes: a CPU's cache line, a GPU's memory transaction.
constexpr std::ptrdiff_t row_alignment(Backend backend) { return backend == Backend::host ? 64 : 128; }

// A queue of work in order. On the host work is executed at once and the handle is null.
struct Stream {
  void* native = nullptr;
};
struct Event {
  void* native = nullptr;
};

// Work that is recorded once and queued again as a whole: one launch for many.
struct Graph {
  void* native = nullptr;
};

}  // namespace isotherm
