// What a thread of the host is about, for tools that draw it over time: ranges of NVTX in the domain
// "isotherm", each by its phase's word, where the build has found NVTX's headers. On a GPU a range is the
// time in which the host queues the work, or waits for it; a tool that sees CUDA too shows when the device
// does it. Without a tool a range costs a call that looks at a pointer.
#pragma once

#include "core/phases.hpp"

namespace isotherm {

// From its construction to its end, in this thread.
class TraceRange {
 public:
  explicit TraceRange(Phase phase);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace isotherm
