// The cost of a halo exchange, and the share of it that a step hides behind its sweep. Two spans of the
// compute stream, a step with its exchange and the same sweep without it, differ by the exposed cost: waits,
// and memory bandwidth, processors and launches that the exchange takes from the sweep. The exchange alone is
// measured too:
//
//     exposed = (exchange and sweep) - (sweep)          hidden = 1 - exposed / (exchange)
//
// Both spans sweep in two parts, so the extra cost of two parts is not counted. Copies within a rank are part
// of the exchange. All ranks measure at once, before the first sweep, with the run's own fields, streams,
// transports and kernels. The two spans alternate, so that a change of clock rates affects both: otherwise
// noise would hide their difference, which is a fraction of the time of a sweep.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

// Seconds of the slowest rank, which limits the job: the waits of others are not communication.
struct HaloCost {
  double exchange = 0;  // with no concurrent sweep
  double exposed = 0;   // time that it adds to a sweep
  // 0 to 1; 0 if the exchange adds its whole time or more. None where the exchange takes no time.
  std::optional<double> hidden_share() const;
};

// The parts of the first sweep of a period.
enum class StepPart { exchange, sweep, both };

// Seconds of the slowest rank, measured one after the other.
struct StepSeconds {
  double exchange, sweep, both;
};
HaloCost halo_cost(std::span<const StepSeconds> samples);  // medians of at least one sample

// `queue(part)` queues a part on `compute`, and on streams that fork from it and join it again; any number of
// times, with the same outcome. `as_graphs`: as in a run with graphs. Collective: every rank returns the
// same. Takes some tenths of a second, or about ten sweeps where those are longer.
HaloCost measure_halo_cost(const Communicator& communicator, Device& device, Stream compute,
                           const std::function<void(StepPart)>& queue, bool as_graphs);

// Seconds of the work that `queue` queues on `compute`, on the slowest rank: a median. Collective.
double measure_seconds(const Communicator& communicator, Device& device, Stream compute,
                       const std::function<void()>& queue);

}  // namespace isotherm
