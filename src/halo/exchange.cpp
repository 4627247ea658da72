#include "halo/exchange.hpp"

#include <algorithm>
#include <iterator>

#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm {

template <class T>
HaloExchange<T>::HaloExchange(const Decomposition& decomposition, const Communicator& communicator,
                              Device& device, std::vector<HaloField<T>> fields,
                              const TransportSettings& settings, std::span<const TransportEntry<T>> registry)
    : decomposition_(decomposition),
      communicator_(communicator),
      device_(device),
      fields_(std::move(fields)),
      stream_(own_stream(device, Priority::high)),
      field_ready_(own_event(device)),
      ghosts_ready_(own_event(device)) {
  all_or_throw(communicator, [&] { check_arguments(); });
  layers_ = fields_.front().view.ghosts;
  if (communicator.size() > 1)
    chosen_ = {settings, registry, decomposition, layers_, communicator, device, fields_};
  by_number_.emplace(layers_, connect(layers_));
}

template <class T>
void HaloExchange<T>::check_arguments() const {
  if (decomposition_.ranks() != communicator_.size())
    throw error_of(ExitCode::internal,
                   "halo exchange of {} subdomains on {} ranks (one per rank); please report this",
                   decomposition_.ranks(), communicator_.size());
  if (fields_.empty()) throw Error(ExitCode::internal, "halo exchange of no field; please report this");
  const int ghosts = fields_.front().view.ghosts;
  for (const HaloField<T>& field : fields_) {
    const Int3 n = field.view.extent;
    if (decomposition_.subdomain(communicator_.rank()).extent() == n && field.view.ghosts == ghosts) continue;
    throw error_of(ExitCode::internal,
                   "halo exchange of {}x{}x{} cells on rank {} (its subdomain differs); please report this",
                   n.x, n.y, n.z, communicator_.rank());
  }
  // Throws where a subdomain of any rank is too thin to fill its neighbour's ghosts.
  Decomposition(decomposition_.cells(), decomposition_.process_grid(), decomposition_.periodic(), ghosts);
}

template <class T>
typename HaloExchange<T>::Layers HaloExchange<T>::connect(int layers) {
  Layers made;
  made.copies = halo_messages(decomposition_, communicator_.rank(), layers, true);
  if (communicator_.size() == 1) return made;
  const std::vector<HaloMessage> messages = halo_messages(decomposition_, communicator_.rank(), layers);
  std::string why_not;
  for (const OpenTransport<T>& open : chosen_.open) {
    std::vector<HaloMessage> mine;  // to the neighbours that use this transport
    for (const HaloMessage& m : messages)
      for (const HaloLink& link : chosen_.links)
        if (link.transport == open.entry->name && link.peer == m.peer) mine.push_back(m);
    all_or_throw(communicator_, [&] {
      if (!mine.empty()) made.transports.push_back(open.maker->connect(fields_, mine));
    });
    if (mine.empty() || made.transports.back()->recordable() || !why_not.empty()) continue;
    const auto [low, high] = std::minmax({communicator_.rank(), mine.front().peer});
    why_not = fmt::format("ranks {} and {} exchange halos by transport {}, which needs the host", low, high,
                          open.entry->name);
  }
  // All ranks record their exchanges, or none: NCCL needs both sides of a message recorded, the slowest rank
  // limits the others, and ranks that choose by a common measurement must measure the same.
  made.why_not_recordable = communicator_.first_of_all(why_not);
  const bool mine = layers == 1 && made.copies.empty() && made.transports.size() == 1 &&
                    made.transports.front()->serves_sweeps();
  made.serves_sweeps = communicator_.all(mine);
  for (const auto& each : made.transports) each->time_phases(clock_.get());
  return made;
}

template <class T>
void HaloExchange<T>::use(int layers) {
  if (layers < 1 || layers > fields_.front().view.ghosts)
    throw error_of(ExitCode::internal,
                   "halo exchange of {} layers, more than the fields have; please report this", layers);
  if (by_number_.count(layers) == 0) by_number_.emplace(layers, connect(layers));
  layers_ = layers;
}

template <class T>
void HaloExchange<T>::start(FieldView<T> field, Stream compute) {
  if (!now().transports.empty()) {
    device_.record(field_ready_, compute);
    device_.wait(stream_, field_ready_);
    for (const auto& each : now().transports) each->send(field, stream_);
  }
  if (now().copies.empty()) return;
  const TraceRange range(Phase::copies);
  for (const HaloMessage& c : now().copies)
    FaceCopy<T>::on(device_.backend()).copy_within(field, c.edge, c.peer_ghosts, compute);
}

template <class T>
void HaloExchange<T>::finish(FieldView<T> field, Stream compute) {
  if (now().transports.empty()) return;
  for (const auto& each : now().transports) each->receive(field, stream_);
  device_.record(ghosts_ready_, stream_);
  device_.wait(compute, ghosts_ready_);
}

template <class T>
void HaloExchange<T>::time_phases() {
  clock_ = std::make_unique<PhaseClock>(device_, stream_);
  clock_->waits = true;
  for (auto& [number, layers] : by_number_)
    for (const auto& each : layers.transports) each->time_phases(clock_.get());
}

template <class T>
std::unique_ptr<Transport<T>> HaloExchange<T>::connect_all(const HaloField<T>& field,
                                                           std::span<const HaloMessage> messages) const {
  constexpr std::size_t most_messages = 26;  // the most that a halo exchange has
  if (!why_not_recordable().empty() || chosen_.open.size() != 1) return nullptr;
  std::string why_not = messages.empty() || messages.size() > most_messages ? "no messages, or too many" : "";
  if (!communicator_.first_of_all(why_not).empty()) return nullptr;
  const OpenTransport<T>& chosen = chosen_.open.front();
  const std::span fields(&field, 1);
  const Communicator own = communicator_.duplicate();
  const int ranks = communicator_.size();
  for (int round = 0; round < ranks; ++round) {  // in each round a rank has one peer, or none
    const int peer = (round + ranks - communicator_.rank()) % ranks;
    TriedLink<T> tried{device_, own, fields, {}, TransportSettings{}.timeout};
    std::ranges::copy_if(messages, std::back_inserter(tried.messages),
                         [&](const HaloMessage& m) { return m.peer == peer; });
    if (tried.messages.empty()) continue;
    const std::string why = tried.try_transport(chosen, false).why_not;
    if (why_not.empty()) why_not = why;
  }
  if (why_not.empty()) why_not = chosen.maker->why_broken();
  if (!communicator_.first_of_all(why_not).empty()) return nullptr;
  std::unique_ptr<Transport<T>> all =
      all_or_throw(communicator_, [&] { return chosen.maker->connect(fields, messages); });
  if (!communicator_.first_of_all(all->recordable() ? "" : "it needs the host").empty()) return nullptr;
  return all;
}

template class HaloExchange<float>;
template class HaloExchange<double>;

}  // namespace isotherm
