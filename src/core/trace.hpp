// The phases of a run: one list for timers, profiler ranges and run.json; and a clock for them.
#pragma once

#include <array>

#include "core/device.hpp"
#include "core/enum_words.hpp"
#include "core/timer.hpp"

namespace isotherm {

enum class Phase : int {
  setup,        // reading, planning, allocating, initialising, probing: all before the loop
  interior,     // sweeps during exchanges: cells that need no ghost of another rank
  exterior,     // the other cells of these sweeps
  sweep,        // whole sweeps, and the wait for the device
  boundaries,   // boundary ghosts; its time includes `copies`
  copies,       // halos between two faces of this rank's own subdomain
  pack,         // edges into messages
  wire,         // messages, and the wait for the neighbours; stores into the neighbours' memory
  unpack,       // messages into ghosts; the wait for the neighbours' stores
  reduction,    // norms and their all-reduce
  diagnostics,  // extremes, heat, histogram, and their all-reduces
  output,       // snapshots, histories, records, in whatever thread writes them
  graph,        // launches of recorded sweeps and their exchanges
  other,        // of the loop: polling, history, progress
  loop,         // from the first sweep until all files are written
  total,        // of the run; includes time that belongs to no phase
  sweeps,       // interior, exterior and sweep together
  halo,         // boundaries, pack, wire and unpack together: the exchange time that no sweep hides
  stepping,     // sweeps, halo and reduction together
};
ISOTHERM_WORDS(Phase, "setup", "interior", "exterior", "sweep", "boundaries", "copies", "pack", "wire",
               "unpack", "reduction", "diagnostics", "output", "graph", "other", "loop", "total", "sweeps",
               "halo", "stepping");

template <class Value>
struct PhaseTable {
  std::array<Value, words_of<Phase>.size()> values{};
  Value& operator[](Phase p) { return values[static_cast<std::size_t>(p)]; }
  const Value& operator[](Phase p) const { return values[static_cast<std::size_t>(p)]; }
};

using PhaseTimes = PhaseTable<double>;  // s of a rank's wall clock

// Marks the phase of a host thread for profilers: an NVTX range in the domain "isotherm", if the build has
// NVTX. With a GPU it shows the time in which the host queues the work or waits for it. Without a profiler a
// range costs the test of a pointer.
class TraceRange {
 public:
  explicit TraceRange(Phase phase);
  ~TraceRange();
  TraceRange& operator=(TraceRange&&) = delete;
};

// Seconds of a host thread by phase. If `waits`, the thread waits at the end of each phase for the work on
// `stream`, so the seconds are those of the device.
class PhaseClock {
 public:
  PhaseClock(Device& device, Stream stream) : device_(&device), stream_(stream) {}

  // Adds to `phase` the time of `work`, which queues on the stream.
  template <class Work>
  void timed(Phase phase, const Work& work) {
    restart();
    work();
    lap(phase);
  }
  void restart() { timer_ = Timer(); }
  void lap(Phase phase) {  // adds the time since the last lap or restart
    if (waits) device_->synchronize(stream_);
    times[phase] += timer_.lap();
  }

  PhaseTimes times{};
  bool waits = false;

 private:
  Device* device_;
  Stream stream_;
  Timer timer_;
};

}  // namespace isotherm
