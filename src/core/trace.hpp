// What a thread of the host is about, for tools that draw it over time: ranges of NVTX in the domain
// "isotherm", each of the name below, where the build has found NVTX's headers. On a GPU a range is the time
// in which the host queues the work, or waits for it; a tool that sees CUDA too shows when the device does
// it. Without a tool a range costs a call that looks at a pointer.
#pragma once

#include <array>

namespace isotherm {

enum class Doing : int {
  sweep,        // of a whole region
  interior,     // of what needs no ghost of another rank, beside the exchange
  shells,       // of the rest, after it
  walls,        // ghosts beyond walls
  copies,       // halos between two faces of this rank's own block
  pack,         // edges into the buffers of messages
  wire,         // messages on their way, and the wait for them; stores into the neighbours' memory
  unpack,       // buffers into ghosts; the wait for what neighbours have stored
  reduce,       // norms and their all-reduce
  diagnostics,  // extremes, heat, histogram
  output,       // files, in whatever thread writes them
  graph,        // the launch of recorded sweeps, their exchanges among them
};
inline constexpr std::array<const char*, 12> doing_names{"sweep",  "interior",    "shells", "walls",
                                                         "copies", "pack",        "wire",   "unpack",
                                                         "reduce", "diagnostics", "output", "graph"};

// From its construction to its end, in this thread.
class TraceRange {
 public:
  explicit TraceRange(Doing doing);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace isotherm
