#include "halo/links.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/agree.hpp"

namespace isotherm {
namespace {

std::string names_of(auto rows, std::string_view without = {}) {
  std::string names;
  for (const auto& row : rows) {
    if (row.moves_data && row.name != without)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return names;
}

template <class T>
std::vector<const TransportRow<T>*> asked_for(const TransportSettings& settings,
                                              std::span<const TransportRow<T>> rows) {
  std::vector<const TransportRow<T>*> asked;
  for (const TransportRow<T>& row : rows) {
    if (settings.name == row.name || (settings.name == "auto" && row.moves_data)) asked.push_back(&row);
  }
  if (!asked.empty()) return asked;
  throw Error(ExitCode::deck, fmt::format("{}: there is no transport '{}' (isotherm list names them); use "
                                          "auto, or one of: {}",
                                          settings.place, settings.name, names_of(rows)));
}

// The fastest that works; empty where none does. Both ranks have the same figures and choose alike.
std::string fastest(const std::vector<TransportTrial>& trials) {
  const TransportTrial* best = nullptr;
  for (const TransportTrial& trial : trials) {
    if (trial.why_not.empty() && (!best || trial.seconds < best->seconds)) best = &trial;
  }
  return best ? best->transport : "";
}

void refuse(const TransportSettings& settings, const HaloLink& link, int rank, const std::string& names) {
  if (settings.name != "auto") {
    throw Error(ExitCode::unavailable,
                fmt::format("{}: transport '{}' does not work between ranks {} and {} ({}); use auto, or "
                            "another of: {}",
                            settings.place, settings.name, std::min(rank, link.peer),
                            std::max(rank, link.peer), link.trials.front().why_not, names));
  }
  std::string reasons;
  for (const TransportTrial& trial : link.trials) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", trial.transport, trial.why_not);
  }
  throw Error(ExitCode::unavailable,
              fmt::format("{}: no transport works between ranks {} and {} ({}); look at the MPI library and "
                          "the network between them",
                          settings.place, std::min(rank, link.peer), std::max(rank, link.peer), reasons));
}

// Pair by pair, so that no other traffic of this rank disturbs a figure.
template <class T>
std::vector<HaloLink> try_links(const TransportSettings& settings, std::vector<OpenTransport<T>>& candidates,
                                const Decomposition& decomposition, int ghosts,
                                const Communicator& communicator, Device& device,
                                std::span<const HaloField<T>> fields) {
  const std::vector<HaloMessage> messages = halo_messages(decomposition, communicator.rank(), ghosts);
  std::vector<HaloLink> links;
  for (const int peer : rounds_of_pairs(decomposition, communicator.rank(), ghosts)) {
    if (peer < 0) continue;
    HaloLink link{peer, {}, 0, "", {}};
    std::vector<HaloMessage> shared;
    for (const HaloMessage& m : messages) {
      if (m.peer != peer) continue;
      shared.push_back(m);
      link.directions.push_back(m.direction);
      link.bytes += m.cells() * sizeof(T);
    }
    LinkProbe<T> probe(device, communicator, fields, shared, settings.timeout);
    for (OpenTransport<T>& c : candidates) {
      const bool timed = settings.timed || candidates.size() > 1;
      link.trials.push_back(probe.run(*c.row, c.maker.get(), c.why_not, timed));
    }
    links.push_back(std::move(link));
  }
  return links;
}

// A trial that went wrong on one link may have taken its row from all.
template <class T>
void drop_broken(const Communicator& communicator, const std::vector<OpenTransport<T>>& candidates,
                 std::vector<HaloLink>& links) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const TransportMaker<T>* maker = candidates[i].maker.get();
    std::string why;
    for (const std::string& broken : communicator.all_gather(maker ? maker->why_broken() : "")) {
      if (why.empty()) why = broken;
    }
    for (HaloLink& link : links) {
      if (link.trials[i].why_not.empty()) link.trials[i].why_not = why;
    }
  }
}

}  // namespace

template <class T>
OpenTransport<T> open_transport(const TransportRow<T>& row, const Communicator& communicator,
                                Device& device) {
  OpenTransport<T> open{&row, nullptr, nullptr, ""};
  try {
    agree(communicator, [&] {
      if (const std::string why = row.unsupported(device); !why.empty())
        throw Error(ExitCode::unavailable, why);
    });
    open.communicator = std::make_unique<Communicator>(communicator.split(0, communicator.rank()));
    open.maker = agree(communicator, [&] { return row.make(device, *open.communicator); });
  } catch (const Error& e) {
    open.why_not = e.what();
  }
  return open;
}

const TransportTrial& HaloLink::chosen() const {
  return *std::find_if(trials.begin(), trials.end(),
                       [&](const TransportTrial& t) { return t.transport == transport; });
}

template <class T>
ChosenTransports<T> choose_transports(const TransportSettings& settings,
                                      std::span<const TransportRow<T>> rows,
                                      const Decomposition& decomposition, int ghosts,
                                      const Communicator& communicator, Device& device,
                                      std::span<const HaloField<T>> fields) {
  std::vector<OpenTransport<T>> candidates;
  for (const TransportRow<T>* row : agree(communicator, [&] { return asked_for(settings, rows); })) {
    candidates.push_back(open_transport(*row, communicator, device));
  }
  ChosenTransports<T> chosen;
  const Communicator own = communicator.split(0, communicator.rank());
  chosen.links = try_links(settings, candidates, decomposition, ghosts, own, device, fields);
  drop_broken(communicator, candidates, chosen.links);
  for (HaloLink& link : chosen.links) link.transport = fastest(link.trials);
  agree(communicator, [&] {
    for (const HaloLink& link : chosen.links) {
      if (link.transport.empty()) refuse(settings, link, communicator.rank(), names_of(rows, settings.name));
    }
  });
  for (OpenTransport<T>& c : candidates) {
    const bool mine = std::any_of(chosen.links.begin(), chosen.links.end(),
                                  [&](const HaloLink& link) { return link.transport == c.row->name; });
    const bool anyones = communicator.all_reduce(std::int64_t{mine}, ReduceOp::max) != 0;
    if (anyones) chosen.open.push_back(std::move(c));
  }
  return chosen;
}

template OpenTransport<float> open_transport(const TransportRow<float>&, const Communicator&, Device&);
template OpenTransport<double> open_transport(const TransportRow<double>&, const Communicator&, Device&);
template ChosenTransports<float> choose_transports(const TransportSettings&,
                                                   std::span<const TransportRow<float>>, const Decomposition&,
                                                   int, const Communicator&, Device&,
                                                   std::span<const HaloField<float>>);
template ChosenTransports<double> choose_transports(const TransportSettings&,
                                                    std::span<const TransportRow<double>>,
                                                    const Decomposition&, int, const Communicator&, Device&,
                                                    std::span<const HaloField<double>>);

}  // namespace isotherm
