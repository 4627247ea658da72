#include "halo/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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
                             const std::vector<HaloMessage>& messages,
                             std::span<const NamedTransport<T>> transports) {
  std::string mine;
  for (const HaloLink& link : links) {
    if (std::ranges::find(messages, link.peer, &HaloMessage::peer) == messages.end()) continue;
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
  // An exchange of so many layers.
  struct Layers {
    std::vector<HaloMessage> messages;
    std::vector<LocalCopy> copies;
    std::vector<NamedTransport<T>> transports;  // those that this rank uses
    std::string why_not_recordable;
    bool serves_sweeps = false;
  };
  Implementation(const Decomposition& decomposition, const Communicator& communicator, Device& device_used,
                 std::vector<HaloField<T>> bound, const TransportSettings& settings,
                 std::span<const TransportRow<T>> rows);
  Layers connect(int layers);
  Layers& now() { return by_number.at(layers); }
  bool remote() { return !now().messages.empty(); }

  Decomposition decomposition;
  const Communicator& communicator;
  Device& device;
  const FaceCopy<T>& cells;
  std::vector<HaloField<T>> fields;
  ChosenTransports<T> chosen;
  int layers;
  std::map<int, Layers> by_number;
  bool times_phases = false;
  Owned<Event> field_ready, ghosts_ready;
};

template <class T>
HaloExchange<T>::Implementation::Implementation(const Decomposition& whole, const Communicator& ranks,
                                                Device& device_used, std::vector<HaloField<T>> bound,
                                                const TransportSettings& settings,
                                                std::span<const TransportRow<T>> rows)
    : decomposition(whole),
      communicator(ranks),
      device(device_used),
      cells(face_copy<T>(device_used.backend())),
      fields(std::move(bound)),
      layers(fields.front().view.ghosts),
      field_ready(own_event(device_used)),
      ghosts_ready(own_event(device_used)) {
  if (communicator.size() > 1)
    chosen = choose_transports<T>(settings, rows, decomposition, layers, communicator, device, fields);
  by_number.emplace(layers, connect(layers));
}

template <class T>
typename HaloExchange<T>::Implementation::Layers HaloExchange<T>::Implementation::connect(int number) {
  Layers made;
  made.messages = halo_messages(decomposition, communicator.rank(), number);
  made.copies = local_copies(decomposition, communicator.rank(), number);
  if (communicator.size() == 1) return made;
  for (const OpenTransport<T>& open : chosen.open) {
    const std::vector<HaloMessage> mine = carried_by(open.row->name, chosen.links, made.messages);
    agree(communicator, [&] {
      if (!mine.empty()) made.transports.push_back({open.row->name, open.maker->connect(fields, mine)});
    });
  }
  made.why_not_recordable = why_not_recorded<T>(communicator, chosen.links, made.messages, made.transports);
  const bool mine = number == 1 && made.copies.empty() && made.transports.size() == 1 &&
                    made.transports.front().transport->serves_sweeps();
  made.serves_sweeps = communicator.all_reduce(std::int64_t{mine}, ReduceOp::min) != 0;
  if (times_phases)
    for (const auto& each : made.transports) each.transport->time_phases(device);
  return made;
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
void HaloExchange<T>::use(int layers) {
  Implementation& own = *implementation_;
  if (layers < 1 || layers > own.fields.front().view.ghosts)
    throw Error(
        ExitCode::internal,
        fmt::format("halo exchange of {} layers, more than the fields have; please report this", layers));
  if (own.by_number.count(layers) == 0) own.by_number.emplace(layers, own.connect(layers));
  own.layers = layers;
}

template <class T>
void HaloExchange<T>::forget_others() {
  Implementation& own = *implementation_;
  std::erase_if(own.by_number, [&](const auto& each) { return each.first != own.layers; });
}

template <class T>
void HaloExchange<T>::start(FieldView<T> field, Stream compute, Stream halo) {
  Implementation& own = *implementation_;
  if (own.remote()) {
    own.device.record(own.field_ready, compute);
    own.device.wait(halo, own.field_ready);
    for (const auto& each : own.now().transports) each.transport->send(field, halo);
  }
  if (own.now().copies.empty()) return;
  const TraceRange range(Phase::copies);
  for (const LocalCopy& c : own.now().copies) own.cells.copy_within(field, c.from, c.to, compute);
}

template <class T>
void HaloExchange<T>::finish(FieldView<T> field, Stream compute, Stream halo) {
  Implementation& own = *implementation_;
  if (!own.remote()) return;
  for (const auto& each : own.now().transports) each.transport->receive(field, halo);
  own.device.record(own.ghosts_ready, halo);
  own.device.wait(compute, own.ghosts_ready);
}

template <class T>
bool HaloExchange<T>::serves_sweeps() const {
  return implementation_->now().serves_sweeps;
}

template <class T>
FaceStores<T> HaloExchange<T>::stores(FieldView<T> in, FieldView<T> out, Stream compute) {
  return implementation_->now().transports.front().transport->stores(in, out, compute);
}

template <class T>
void HaloExchange<T>::hand_ghosts(FieldView<T> field, Stream compute) {
  implementation_->now().transports.front().transport->hand_ghosts(field, compute);
}

template <class T>
void HaloExchange<T>::take_ghosts(FieldView<T> field, Stream compute) {
  implementation_->now().transports.front().transport->take_ghosts(field, compute);
}

template <class T>
void HaloExchange<T>::time_phases() {
  Implementation& own = *implementation_;
  own.times_phases = true;
  for (auto& [number, layers] : own.by_number)
    for (const auto& each : layers.transports) each.transport->time_phases(own.device);
}

template <class T>
PhaseTimes HaloExchange<T>::times() const {
  PhaseTimes sum;
  for (const auto& [number, layers] : implementation_->by_number)
    for (const auto& each : layers.transports)
      for (const Phase phase : {Phase::pack, Phase::wire, Phase::unpack})
        sum[phase] += each.transport->times()[phase];
  return sum;
}

template <class T>
std::size_t HaloExchange<T>::bytes_sent() const {
  std::size_t bytes = 0;
  for (const HaloMessage& m : implementation_->now().messages) bytes += m.cells() * sizeof(T);
  return bytes;
}

template <class T>
int HaloExchange<T>::messages() const {
  return static_cast<int>(implementation_->now().messages.size());
}

template <class T>
const std::vector<HaloLink>& HaloExchange<T>::links() const {
  return implementation_->chosen.links;
}

template <class T>
const std::string& HaloExchange<T>::why_not_recordable() const {
  return implementation_->now().why_not_recordable;
}

template class HaloExchange<float>;
template class HaloExchange<double>;

}  // namespace isotherm
