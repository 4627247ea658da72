#include "solver/exchange_costs.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "core/agree.hpp"
#include "core/timer.hpp"
#include "grid/field.hpp"
#include "halo/exchange.hpp"
#include "halo/messages.hpp"
#include "kernels/face_copy.hpp"
#include "solver/collective_timer.hpp"
#include "solver/tuning.hpp"

namespace isotherm {
namespace {

constexpr Index thin = 2;      // cells along the axes of blocks whose messages are short
constexpr Index thick = 256;   // at most, of those whose messages are long: what a bandwidth needs
constexpr double least = 0.1;  // of the time of a long exchange that its bytes take

// The same ranks with blocks of at most `extent` cells an axis, all alike.
Decomposition with_blocks(const Decomposition& decomposition, Index extent) {
  const Int3 parts = decomposition.process_grid();
  Int3 cells;
  for (int axis = 0; axis < 3; ++axis) {
    const Index block = (decomposition.cells()[axis] + parts[axis] - 1) / parts[axis];
    cells[axis] = parts[axis] * std::min(block, extent);
  }
  return {cells, parts, decomposition.periodic()};
}

// The rows of the table that a run would open for this, but for those that take longer than all else here.
template <class T>
std::vector<TransportRow<T>> rows_to_try(const std::string& asked) {
  std::vector<TransportRow<T>> rows;
  for (const TransportRow<T>& row : transport_rows<T>())
    if (asked == row.name || !row.slow_to_open) rows.push_back(row);
  return rows;
}

template <class T>
class Exchanges {
 public:
  Exchanges(const Config& config, const Communicator& communicator, Device& device)
      : communicator_(communicator),
        device_(device),
        settings_{config.parallel.transport, config.at("parallel.transport"), config.parallel.probe_timeout,
                  false},
        rows_(rows_to_try<T>(config.parallel.transport)),
        compute_(own_stream(device, Priority::normal)),
        halo_(own_stream(device, Priority::high)) {}

  TimedExchange time(const Decomposition& decomposition, int ghosts) {
    Field<T> field = agree(communicator_, [&] {
      const Int3 extent = decomposition.block(communicator_.rank()).extent();
      Field<T> made(device_, extent, ghosts);
      face_copy<T>(device_.backend()).fill(made.view(), T(0), compute_);
      device_.synchronize(compute_);
      return made;
    });
    HaloExchange<T> exchange(decomposition, communicator_, device_, {halo_field(field)}, settings_, rows_);
    for (const HaloLink& link : exchange.links()) used_.insert(link.transport);
    const double seconds = CollectiveTimer(communicator_, device_, compute_).seconds([&] {
      exchange.start(field.view(), compute_, halo_);
      exchange.finish(field.view(), compute_, halo_);
    });
    const auto most = [&](auto mine) {
      return communicator_.all_reduce(static_cast<std::int64_t>(mine), ReduceOp::max);
    };
    const auto messages = static_cast<int>(most(exchange.messages()));
    if (messages > 0) return {seconds, messages, static_cast<double>(most(exchange.bytes_sent()))};
    const Index copied = copied_cells(decomposition, communicator_.rank(), ghosts);
    return {seconds, 0, static_cast<double>(most(copied)) * sizeof(T)};
  }

  // By all ranks, in the order of the table.
  std::string used() const {
    std::string names;
    for (const TransportRow<T>& row : rows_) {
      const bool mine = used_.count(std::string(row.name)) > 0;
      if (communicator_.all_reduce(std::int64_t{mine}, ReduceOp::max) == 0) continue;
      names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
    return names.empty() ? "copies of its own" : names;
  }

 private:
  const Communicator& communicator_;
  Device& device_;
  TransportSettings settings_;
  std::vector<TransportRow<T>> rows_;  // outlives the exchanges that it is given to
  Owned<Stream> compute_, halo_;
  std::set<std::string> used_;
};

}  // namespace

ExchangeCosts exchange_costs(const TimedExchange& short_faces, const TimedExchange& short_all,
                             const TimedExchange& long_faces, double seconds_a_cell) {
  ExchangeCosts costs;
  if (short_all.messages > short_faces.messages) {
    costs.seconds_a_message =
        std::max(0.0, short_all.seconds - short_faces.seconds) / (short_all.messages - short_faces.messages);
  }
  // One message cannot cost more than the exchange that it is a part of.
  costs.seconds_a_message =
      std::min(costs.seconds_a_message, short_faces.seconds / std::max(short_faces.messages, 1));
  costs.seconds_an_exchange = short_faces.seconds - short_faces.messages * costs.seconds_a_message;
  const double bytes_take = std::max(long_faces.seconds - short_faces.seconds, least * long_faces.seconds);
  costs.bytes_a_second = long_faces.bytes / bytes_take;
  costs.seconds_a_cell = seconds_a_cell;
  return costs;
}

template <class T>
MeasuredCosts measure_exchange_costs(const Config& config, const Decomposition& decomposition,
                                     const Communicator& communicator, Device& device,
                                     const SweepChoice<T>& sweep) {
  const Timer timer;
  Exchanges<T> exchanges(config, communicator, device);
  // The run's own faces first: where no transport works, that is what the message tells of.
  const TimedExchange long_faces = exchanges.time(with_blocks(decomposition, thick), 1);
  const TimedExchange short_faces = exchanges.time(with_blocks(decomposition, thin), 1);
  const TimedExchange short_all = exchanges.time(with_blocks(decomposition, thin), 2);
  const double cell = seconds_a_cell(config, decomposition, communicator, device, sweep);
  return {exchange_costs(short_faces, short_all, long_faces, cell), exchanges.used(),
          communicator.all_reduce(timer.seconds(), ReduceOp::max)};
}

template MeasuredCosts measure_exchange_costs(const Config&, const Decomposition&, const Communicator&,
                                              Device&, const SweepChoice<float>&);
template MeasuredCosts measure_exchange_costs(const Config&, const Decomposition&, const Communicator&,
                                              Device&, const SweepChoice<double>&);

}  // namespace isotherm
