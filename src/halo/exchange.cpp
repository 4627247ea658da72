#include "halo/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/agree.hpp"
#include "core/error.hpp"
#include "halo/regions.hpp"

namespace isotherm {
namespace {

template <class T>
struct NamedTransport {
  std::string_view name;
  std::unique_ptr<Transport<T>> transport;
};

template <class T>
void check_arguments(const Decomposition& decomposition, const Communicator& communicator,
                     const std::vector<HaloField<T>>& fields) {
  if (decomposition.ranks() != communicator.size()) {
    throw Error(ExitCode::internal, fmt::format("halo exchange of {} blocks on {} ranks (one block a rank); "
                                                "please report this",
                                                decomposition.ranks(), communicator.size()));
  }
  if (fields.empty()) throw Error(ExitCode::internal, "halo exchange of no field; please report this");
  for (const HaloField<T>& field : fields) {
    const Int3 n = field.view.extent;
    if (decomposition.block(communicator.rank()).extent() == n &&
        field.view.ghosts == fields.front().view.ghosts) {
      continue;
    }
    throw Error(ExitCode::internal, fmt::format("halo exchange of {}x{}x{} cells on rank {} (its block "
                                                "differs); please report this",
                                                n.x, n.y, n.z, communicator.rank()));
  }
  // Throws where a block of any rank is too thin to fill its neighbour's ghosts.
  Decomposition(decomposition.cells(), decomposition.process_grid(), decomposition.periodic(),
                fields.front().view.ghosts);
}

// All ranks record their exchanges, or none does. NCCL takes only messages that both sides record; with the
// others nobody would gain whose neighbour does not, as all are as fast as the slowest. And what ranks find
// out by a figure of all, they have to try alike.
template <class T>
std::string why_not_recorded(const Communicator& communicator, const std::vector<HaloLink>& links,
                             std::span<const NamedTransport<T>> transports) {
  std::string mine;
  for (const HaloLink& link : links) {
    const bool recorded = std::any_of(transports.begin(), transports.end(), [&](const auto& t) {
      return t.name == link.transport && t.transport->recordable();
    });
    if (!recorded && mine.empty()) {
      mine = fmt::format("ranks {} and {} exchange halos by transport {}, which needs the host",
                         std::min(communicator.rank(), link.peer), std::max(communicator.rank(), link.peer),
                         link.transport);
    }
  }
  for (const std::string& why : communicator.all_gather(mine)) {
    if (!why.empty()) return why;
  }
  return {};
}

// The messages to those neighbours whom this transport carries.
std::vector<HaloMessage> carried_by(std::string_view transport, const std::vector<HaloLink>& links,
                                    const std::vector<HaloMessage>& messages) {
  std::vector<HaloMessage> carried;
  for (const HaloMessage& m : messages) {
    const bool is_mine = std::any_of(links.begin(), links.end(), [&](const HaloLink& link) {
      return link.peer == m.peer && link.transport == transport;
    });
    if (is_mine) carried.push_back(m);
  }
  return carried;
}

}  // namespace

template <class T>
struct HaloExchange<T>::Implementation {
  Implementation(const Decomposition& decomposition, const Communicator& communicator, Device& device_used,
                 std::vector<HaloField<T>> bound, const TransportSettings& settings,
                 std::span<const TransportRow<T>> rows);
  bool remote() const { return !messages.empty(); }

  Device& device;
  const FaceCopy<T>& cells;
  std::vector<HaloField<T>> fields;
  int ghosts;
  std::vector<HaloMessage> messages;
  std::vector<LocalCopy> copies;
  ChosenTransports<T> chosen;
  std::vector<NamedTransport<T>> transports;  // those that this rank uses
  std::string why_not_recordable;
  bool serves_sweeps = false;
  Owned<Event> field_ready, ghosts_ready;
};

template <class T>
HaloExchange<T>::Implementation::Implementation(const Decomposition& decomposition,
                                                const Communicator& communicator, Device& device_used,
                                                std::vector<HaloField<T>> bound,
                                                const TransportSettings& settings,
                                                std::span<const TransportRow<T>> rows)
    : device(device_used),
      cells(face_copy<T>(device_used.backend())),
      fields(std::move(bound)),
      ghosts(fields.front().view.ghosts),
      messages(halo_messages(decomposition, communicator.rank(), ghosts)),
      copies(local_copies(decomposition, communicator.rank(), ghosts)),
      field_ready(own_event(device_used)),
      ghosts_ready(own_event(device_used)) {
  if (communicator.size() == 1) return;
  chosen = choose_transports<T>(settings, rows, decomposition, ghosts, communicator, device, fields);
  for (const OpenTransport<T>& open : chosen.open) {
    const std::vector<HaloMessage> mine = carried_by(open.row->name, chosen.links, messages);
    agree(communicator, [&] {
      if (!mine.empty()) transports.push_back({open.row->name, open.maker->connect(fields, mine)});
    });
  }
  why_not_recordable = why_not_recorded<T>(communicator, chosen.links, transports);
  const bool mine = ghosts == 1 && copies.empty() && transports.size() == 1 &&
                    transports.front().transport->serves_sweeps();
  serves_sweeps = communicator.all_reduce(std::int64_t{mine}, ReduceOp::min) != 0;
}

template <class T>
HaloExchange<T>::HaloExchange(const Decomposition& decomposition, const Communicator& communicator,
                              Device& device, std::vector<HaloField<T>> fields,
                              const TransportSettings& settings, std::span<const TransportRow<T>> rows) {
  agree(communicator, [&] { check_arguments(decomposition, communicator, fields); });
  implementation_ = std::make_unique<Implementation>(decomposition, communicator, device, std::move(fields),
                                                     settings, rows);
}

template <class T>
HaloExchange<T>::HaloExchange(HaloExchange&&) noexcept = default;

template <class T>
HaloExchange<T>::~HaloExchange() = default;

template <class T>
void HaloExchange<T>::start(FieldView<T> field, Stream compute, Stream halo) {
  Implementation& own = *implementation_;
  if (own.remote()) {
    own.device.record(own.field_ready, compute);
    own.device.wait(halo, own.field_ready);
    for (const auto& each : own.transports) each.transport->send(field, halo);
  }
  if (own.copies.empty()) return;
  const TraceRange range(Phase::copies);
  for (const LocalCopy& c : own.copies) own.cells.copy_within(field, c.from, c.to, compute);
}

template <class T>
void HaloExchange<T>::finish(FieldView<T> field, Stream compute, Stream halo) {
  Implementation& own = *implementation_;
  if (!own.remote()) return;
  for (const auto& each : own.transports) each.transport->receive(field, halo);
  own.device.record(own.ghosts_ready, halo);
  own.device.wait(compute, own.ghosts_ready);
}

template <class T>
bool HaloExchange<T>::serves_sweeps() const {
  return implementation_->serves_sweeps;
}

template <class T>
FaceStores<T> HaloExchange<T>::stores(FieldView<T> in, FieldView<T> out, Stream compute) {
  return implementation_->transports.front().transport->stores(in, out, compute);
}

template <class T>
void HaloExchange<T>::hand_ghosts(FieldView<T> field, Stream compute) {
  implementation_->transports.front().transport->hand_ghosts(field, compute);
}

template <class T>
void HaloExchange<T>::take_ghosts(FieldView<T> field, Stream compute) {
  implementation_->transports.front().transport->take_ghosts(field, compute);
}

template <class T>
void HaloExchange<T>::time_phases() {
  Implementation& own = *implementation_;
  for (const auto& each : own.transports) each.transport->time_phases(own.device);
}

template <class T>
PhaseTimes HaloExchange<T>::times() const {
  PhaseTimes sum;
  for (const auto& each : implementation_->transports)
    for (const Phase phase : {Phase::pack, Phase::wire, Phase::unpack})
      sum[phase] += each.transport->times()[phase];
  return sum;
}

template <class T>
std::size_t HaloExchange<T>::bytes_sent() const {
  std::size_t bytes = 0;
  for (const HaloMessage& m : implementation_->messages) bytes += m.cells() * sizeof(T);
  return bytes;
}

template <class T>
int HaloExchange<T>::messages() const {
  return static_cast<int>(implementation_->messages.size());
}

template <class T>
const std::vector<HaloLink>& HaloExchange<T>::links() const {
  return implementation_->chosen.links;
}

template <class T>
const std::string& HaloExchange<T>::why_not_recordable() const {
  return implementation_->why_not_recordable;
}

template class HaloExchange<float>;
template class HaloExchange<double>;

}  // namespace isotherm
