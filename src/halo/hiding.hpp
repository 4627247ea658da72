// What a halo exchange costs, and how much of that a step hides behind its sweep. Two spans of the compute
// stream, a step with its exchange and the same sweep without it, differ by what the exchange costs the step:
// waits, and memory, processors and launches that it takes from the sweep. Beside it stands the exchange
// alone:
//
//     exposed = (exchange and sweep) - (sweep)          hidden = 1 - exposed / (exchange)
//
// Both are swept in two parts, so what that costs more than one whole sweep is not in it. Copies within a
// rank are part of the exchange. It is measured before the first sweep, with the run's own fields, streams,
// transports and kernels, on all ranks at once, the two spans one after the other, so that a clock that
// changes changes both: as a share of the time of a sweep it would be lost to noise.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "core/communicator.hpp"
#include "core/device.hpp"

namespace isotherm {

// Seconds of the slowest rank, as fast as which a job is: others' waits are no communication.
struct HaloCost {
  double exchange = 0;  // with nothing beside it
  double exposed = 0;   // what it adds to a step
  // From 0, where the exchange adds all that it takes or more, to 1. None where it takes no time.
  std::optional<double> hidden_share() const;
};

// What of the first sweep of a period.
enum class StepPart { exchange, sweep, both };

// Seconds of the slowest rank, at about one time.
struct StepSeconds {
  double exchange, sweep, both;
};
HaloCost halo_cost(std::span<const StepSeconds> samples);  // medians; of one sample at least

// `queue(part)` queues it on `compute`, and on streams that fork from it and join it again; any number of
// times, with the same outcome. `as_graphs`: as a run queues it that has graphs. Collective: every rank
// returns the same. Takes some tenths of a second, or some ten sweeps where those are longer.
HaloCost measure_halo_cost(const Communicator& communicator, Device& device, Stream compute,
                           const std::function<void(StepPart)>& queue, bool as_graphs);

// Seconds of what `queue` queues on `compute`, on the slowest rank: the median of some. Collective.
double measure_seconds(const Communicator& communicator, Device& device, Stream compute,
                       const std::function<void()>& queue);

}  // namespace isotherm
