#include "halo/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "halo/regions.hpp"

namespace isotherm {
namespace {

constexpr std::size_t buffer_alignment = 128;  // bytes

// Messages of one pair of ranks differ by direction: along a periodic axis of two parts, or around corners,
// several have the same peer.
int tag(Direction d) {
  return (d[0] + 1) + 3 * (d[1] + 1) + 9 * (d[2] + 1);
}

Direction opposite(Direction d) {
  return {-d[0], -d[1], -d[2]};
}

template <class T>
bool any_wall(const Walls<T>& walls) {
  return std::any_of(std::begin(walls.faces), std::end(walls.faces),
                     [](const Wall<T>& w) { return w.is_wall; });
}

void check_arguments(const Decomposition& decomposition, const Communicator& communicator, Int3 extent) {
  if (decomposition.ranks() != communicator.size()) {
    throw Error(ExitCode::internal, fmt::format("halo exchange of {} blocks on {} ranks (one block a rank); "
                                                "please report this",
                                                decomposition.ranks(), communicator.size()));
  }
  if (!(decomposition.block(communicator.rank()).extent() == extent)) {
    throw Error(ExitCode::internal,
                fmt::format("halo exchange of {}x{}x{} cells on rank {} (its block differs); "
                            "please report this",
                            extent.x, extent.y, extent.z, communicator.rank()));
  }
}

}  // namespace

template <class T>
struct HaloExchange<T>::Implementation {
  struct Message {  // one each way
    int peer;
    Direction direction;  // of the peer
    Box edge, ghosts;     // what is sent, what is received
    T* sent;
    T* received;
    std::size_t bytes() const { return static_cast<std::size_t>(edge.cells()) * sizeof(T); }
  };
  struct LocalCopy {
    Box from, to;
  };

  Implementation(const Decomposition& decomposition, const Communicator& communicator, Device& device_used,
                 Int3 extent, int ghost_layers);
  void make_buffers();
  void make_transport(const Communicator& communicator);
  bool remote() const { return !messages.empty(); }

  Device& device;
  const FaceCopy<T>& cells;
  int ghosts;
  std::vector<Message> messages;
  std::vector<LocalCopy> local_copies;
  Buffer send_buffer, receive_buffer;    // all messages, one after the other
  std::unique_ptr<Transport> transport;  // none without messages
  Owned<Event> field_ready, ghosts_ready;
};

template <class T>
HaloExchange<T>::Implementation::Implementation(const Decomposition& decomposition,
                                                const Communicator& communicator, Device& device_used,
                                                Int3 extent, int ghost_layers)
    : device(device_used),
      cells(face_copy<T>(device_used.backend())),
      ghosts(ghost_layers),
      field_ready(own_event(device_used)),
      ghosts_ready(own_event(device_used)) {
  const int rank = communicator.rank();
  for (const Direction d : ghosts == 1 ? face_directions() : all_directions()) {
    const std::optional<int> peer = decomposition.neighbour(rank, d);
    if (!peer) continue;
    const Box beyond = ghost_box(extent, ghosts, d);
    if (*peer == rank) {
      local_copies.push_back({edge_box(extent, ghosts, opposite(d)), beyond});
    } else {
      messages.push_back({*peer, d, edge_box(extent, ghosts, d), beyond, nullptr, nullptr});
    }
  }
  if (remote()) {
    make_buffers();
    make_transport(communicator);
  }
}

template <class T>
void HaloExchange<T>::Implementation::make_buffers() {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (const Message& m : messages) {
    offsets.push_back(bytes);
    bytes += (m.bytes() + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
  }
  send_buffer = Buffer(device, bytes);
  receive_buffer = Buffer(device, bytes);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].sent = reinterpret_cast<T*>(send_buffer.as<std::byte>() + offsets[i]);
    messages[i].received = reinterpret_cast<T*>(receive_buffer.as<std::byte>() + offsets[i]);
  }
}

template <class T>
void HaloExchange<T>::Implementation::make_transport(const Communicator& communicator) {
  std::vector<HaloMessage> list;
  for (const Message& m : messages) {
    list.push_back({m.peer, tag(m.direction), tag(opposite(m.direction)), m.sent, m.received, m.bytes()});
  }
  transport = make_host_transport(device, communicator, list);
}

template <class T>
HaloExchange<T>::HaloExchange(const Decomposition& decomposition, const Communicator& communicator,
                              Device& device, Int3 extent, int ghosts) {
  check_arguments(decomposition, communicator, extent);
  // Throws where a block of any rank is too thin to fill its neighbour's ghosts.
  Decomposition(decomposition.cells(), decomposition.process_grid(), decomposition.periodic(), ghosts);
  implementation_ = std::make_unique<Implementation>(decomposition, communicator, device, extent, ghosts);

  std::array<bool, face_count> remote;
  const std::vector<Direction> faces = face_directions();  // in the order of Face
  for (int f = 0; f < face_count; ++f) {
    const std::optional<int> peer = decomposition.neighbour(communicator.rank(), faces[f]);
    remote[f] = peer && *peer != communicator.rank();
  }
  Split split = split_block(extent, remote, 1);
  interior_ = split.interior;
  shells_ = std::move(split.shells);
}

template <class T>
HaloExchange<T>::HaloExchange(HaloExchange&&) noexcept = default;

template <class T>
HaloExchange<T>::~HaloExchange() = default;

template <class T>
void HaloExchange<T>::start(FieldView<T> field, const Walls<T>& walls, Stream compute, Stream halo) {
  Implementation& own = *implementation_;
  if (own.remote()) {
    own.transport->post();
    own.device.record(own.field_ready, compute);
    own.device.wait(halo, own.field_ready);
    for (const auto& m : own.messages) own.cells.pack(field, m.edge, m.sent, halo);
    own.transport->send(halo);
  }
  for (const auto& c : own.local_copies) own.cells.copy_within(field, c.from, c.to, compute);
  // Without messages all that a wall looks into is here already.
  const int extend = own.remote() || own.ghosts == 1 ? 0 : own.ghosts;
  if (any_wall(walls)) own.cells.fill_walls(field, walls, extend, compute);
}

template <class T>
void HaloExchange<T>::finish(FieldView<T> field, const Walls<T>& walls, Stream compute, Stream halo) {
  Implementation& own = *implementation_;
  if (!own.remote()) return;
  own.transport->wait(halo);
  for (const auto& m : own.messages) own.cells.unpack(m.received, field, m.ghosts, halo);
  own.device.record(own.ghosts_ready, halo);
  own.device.wait(compute, own.ghosts_ready);
  // On compute, behind the sweep of the interior, which reads the same ghosts.
  if (own.ghosts > 1 && any_wall(walls)) own.cells.fill_walls(field, walls, own.ghosts, compute);
}

template <class T>
std::size_t HaloExchange<T>::bytes_sent() const {
  std::size_t bytes = 0;
  for (const auto& m : implementation_->messages) bytes += m.bytes();
  return bytes;
}

template <class T>
int HaloExchange<T>::messages() const {
  return static_cast<int>(implementation_->messages.size());
}

template class HaloExchange<float>;
template class HaloExchange<double>;

}  // namespace isotherm
