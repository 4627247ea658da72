// The setup that lets the GPU of a rank store into another rank's memory: both open each other's fields and
// inboxes once, and close them at the end. In between the host queues two launches per exchange.
#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "core/cuda_native.hpp"
#include "core/text.hpp"
#include "core/timer.hpp"
#include "halo/handshake.hpp"
#include "halo/transport.hpp"
#include "kernels/peer_copy.hpp"

namespace isotherm {
namespace {

constexpr double disconnect_seconds = 2;  // the longest wait for a peer at the end
constexpr double abandon_seconds = 1;     // for kernels to see that they are abandoned

void check_ipc(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  throw error_of(ExitCode::unavailable, "{} failed ({})", call, cuda::error_text(code));
}

// The handle by which other processes open the allocation that starts at `memory`. Throws Error(unavailable).
cudaIpcMemHandle_t handle_of(void* memory) {
  cudaIpcMemHandle_t handle{};
  check_ipc(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
  return handle;
}

// A peer's allocation, mapped for `device`; its last owner closes it. Older runtimes reject a second opening,
// and an abandoned transport keeps its memory open. So all requests of the process for one allocation share
// one mapping.
std::shared_ptr<std::byte> open_peer_memory(int device, const cudaIpcMemHandle_t& handle) {
  static std::map<std::pair<int, std::string>, std::weak_ptr<std::byte>> open;
  std::erase_if(open, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<std::byte>& known = open[{device, std::string(handle.reserved, sizeof(handle.reserved))}];
  if (std::shared_ptr<std::byte> memory = known.lock()) return memory;
  check_ipc(cudaSetDevice(device), "cudaSetDevice");
  void* pointer = nullptr;
  check_ipc(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  const auto close = [device](std::byte* memory) {
    const bool closed = cudaSetDevice(device) == cudaSuccess && cudaIpcCloseMemHandle(memory) == cudaSuccess;
    if (!closed) cudaGetLastError();
  };
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(pointer), close);
  known = memory;
  return memory;
}

// A setup in stages by a rank and its peers. A rank reports an error to its peers, but every rank runs all
// stages: a rank that stops early would block ranks that the error does not concern.
class Agreement {
 public:
  Agreement(const Communicator& communicator, std::span<const int> peers)
      : communicator_(communicator), peers_(peers) {}

  // Skips `work` after an error.
  template <class Work>
  void attempt(Work work) {
    try {
      if (why_not_.empty()) work();
    } catch (const std::exception& e) {
      why_not_ = fmt::format("rank {}: {}", communicator_.rank(), e.what());
    }
  }
  // The peers' texts, valid only without an error.
  std::vector<std::string> swap(std::vector<std::string> mine) {
    for (std::string& text : mine) text = why_not_.empty() ? "+" + text : "-" + why_not_;
    std::vector<std::string> theirs = swap_texts(communicator_, peers_, mine);
    for (std::string& text : theirs) {
      if (text[0] == '-' && why_not_.empty()) why_not_ = text.substr(1);
      text.erase(0, 1);
    }
    return theirs;
  }
  const std::string& why_not() const { return why_not_; }

 private:
  const Communicator& communicator_;
  std::span<const int> peers_;
  std::string why_not_;
};

// The data with which a peer stores into this rank's memory, sent as bytes; both sides represent it alike.
struct OfferedInbox {
  cudaIpcMemHandle_t memory;
  std::uint64_t flags, cells, columns;  // byte offsets; the peer writes there
};
struct OfferedField {
  cudaIpcMemHandle_t memory;
  std::uint64_t origin;  // bytes
  Index pitch_y, pitch_z;
};

// Messages in one direction between two ranks that are sent dense, because their rows are too short to be
// stored one by one. By tag: the byte offset of each in the receiver's buffer.
struct DenseMessages {
  std::map<int, std::size_t> places;
  std::size_t bytes = 0;
};
template <class T>
DenseMessages dense_messages(std::span<const HaloMessage> messages, int peer,
                             int (*tag)(const HaloMessage&)) {
  DenseMessages dense;
  for (const HaloMessage& m : messages) {
    const bool is_short = m.edge.extent().x * Index{sizeof(T)} < least_direct_row;
    if (m.peer == peer && is_short) dense.places[tag(m)] = m.cells() * sizeof(T);
  }
  for (auto& [each_tag, place] : dense.places) {
    const std::size_t length = std::exchange(place, dense.bytes);
    dense.bytes += round_up<std::size_t>(length, line_bytes);
  }
  return dense;
}

template <class T>
PeerMessage<T> message_of(FieldView<T> from, FieldView<T> to, int link) {
  return {from.origin, to.origin, from.pitch_y, from.pitch_z, to.pitch_y, to.pitch_z, from.extent, link};
}

template <class T>
class PeerTransport final : public Transport<T> {
 public:
  // `alone`: no two ranks share a device.
  PeerTransport(Device& device, const Communicator& communicator, bool alone,
                std::span<const HaloField<T>> fields, std::span<const HaloMessage> messages)
      : device_(device), communicator_(communicator), peers_(peers_of(messages)), serves_sweeps_(alone) {
    Agreement agreement(communicator_, peers_);
    std::vector<std::string> texts(peers_.size());
    agreement.attempt([&] {
      make_inbox(fields, messages);
      progress_ = copied_to(device_, std::vector<PeerProgress>(1));
      abandoned_ = Buffer(device_, sizeof(std::uint32_t), Memory::staging);
      *abandoned_.as<std::uint32_t>() = 0;
      for (std::size_t i = 0; i < peers_.size(); ++i) texts[i] = offer(static_cast<int>(i), fields);
    });
    const std::vector<std::string> offers = agreement.swap(texts);
    agreement.attempt([&] {
      links_ = {
          {}, static_cast<int>(peers_.size()), progress_.as<PeerProgress>(), abandoned_.as<std::uint32_t>()};
      for (const HaloField<T>& field : fields) fields_.push_back({field.view.origin, {}, {}, {}, {}, {}});
      for (int i = 0; i < links_.count; ++i) bind(i, peers_[i], offers[i], fields, messages);
    });
    agreement.swap(std::vector<std::string>(peers_.size()));
    if (agreement.why_not().empty()) return;
    part();
    throw Error(ExitCode::unavailable, agreement.why_not());
  }
  PeerTransport& operator=(PeerTransport&&) = delete;
  ~PeerTransport() override {
    if (cudaSetDevice(device_.info().index) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)
      cudaGetLastError();
    part();
  }

  void send(FieldView<T> field, Stream stream) override {
    stream_ = stream;
    this->measure(Phase::wire, [&] { copy_.store(bound_to(field).messages, links_, stream); });
  }
  void receive(FieldView<T> field, Stream stream) override {
    this->measure(Phase::unpack, [&] { copy_.wait(bound_to(field).arrivals, links_, stream); });
  }
  bool recordable() const override { return true; }

  bool serves_sweeps() const override { return serves_sweeps_; }
  FaceStores<T> stores(FieldView<T> in, FieldView<T> out, Stream stream) override {
    stream_ = stream;
    const Bound& from = bound_to(in);
    FaceStores<T> stores = bound_to(out).stores;
    std::copy(std::begin(from.stores.columns), std::end(from.stores.columns), stores.columns);
    stores.column_pitch = column_pitch_;
    stores.links = links_;
    return stores;
  }
  void publish_ghosts(FieldView<T> field, Stream stream) override {
    copy_.copy(bound_to(field).to_columns, stream);
  }
  void unpack_ghosts(FieldView<T> field, Stream stream) override {
    stream_ = stream;
    copy_.await_sweeps(links_, stream);
    copy_.copy(bound_to(field).from_columns, stream);
  }

  // Kernels that spin read this flag and end; kernels that already store end soon.
  void abandon() noexcept override {
    std::atomic_ref(*abandoned_.as<std::uint32_t>()).store(1);
    try {
      const Owned<Event> ended = own_event(device_);
      device_.record(ended, stream_);
      for (const Timer timer; !device_.passed(ended) && timer.seconds() < abandon_seconds;)
        std::this_thread::yield();
      if (device_.passed(ended)) open_.clear();
    } catch (const std::exception&) {  // a device that has failed stores nothing any more
    }
  }

 private:
  struct Bound {
    T* origin;
    PeerMessages<T> messages, arrivals;
    FaceStores<T> stores;  // of a sweep that writes the field; columns: of one that reads it
    PeerMessages<T> to_columns, from_columns;  // from and to the ghosts across x
  };
  const Bound& bound_to(FieldView<T> field) const {
    const auto bound = std::ranges::find(fields_, field.origin, &Bound::origin);
    if (bound != fields_.end()) return *bound;
    throw Error(ExitCode::internal, "halo exchange of a field that is not bound; please report this");
  }

  void make_inbox(std::span<const HaloField<T>> fields, std::span<const HaloMessage> messages) {
    const std::vector<PeerFlags> flags(peers_.size());  // zeros
    std::size_t bytes = round_up<std::size_t>(flags.size() * sizeof(PeerFlags), line_bytes);
    for (const int peer : peers_) {
      cells_of_.push_back(bytes);
      bytes += dense_messages<T>(messages, peer, receive_tag).bytes;
    }
    const Int3 n = fields.front().view.extent;
    column_pitch_ = round_up<Index>(n.y, column_unit);
    if (std::ranges::any_of(messages, [](const HaloMessage& m) { return m.direction[0] != 0; }))
      face_bytes_ = static_cast<std::size_t>(column_pitch_ * n.z) * sizeof(T);
    columns_at_ = bytes;
    bytes += 2 * fields.size() * face_bytes_;
    inbox_ = Buffer(device_, bytes);
    const Owned<Stream> stream = own_stream(device_, Priority::high);
    device_.copy(inbox_.data(), flags.data(), flags.size() * sizeof(PeerFlags), stream);
    device_.synchronize(stream);
  }

  std::string offer(int link, std::span<const HaloField<T>> fields) const {
    std::string text;
    const auto i = static_cast<std::size_t>(link);
    append(text, OfferedInbox{handle_of(inbox_.data()), i * sizeof(PeerFlags), cells_of_[i], columns_at_});
    for (const HaloField<T>& field : fields) {
      const auto origin =
          reinterpret_cast<std::byte*>(field.view.origin) - static_cast<std::byte*>(field.memory);
      append(text, OfferedField{handle_of(field.memory), static_cast<std::uint64_t>(origin),
                                field.view.pitch_y, field.view.pitch_z});
    }
    return text;
  }

  void bind(int link, int peer, std::string_view offer, std::span<const HaloField<T>> fields,
            std::span<const HaloMessage> messages) {
    if (offer.size() != sizeof(OfferedInbox) + fields.size() * sizeof(OfferedField))
      throw error_of(ExitCode::internal, "rank {} exchanges other fields; please report this", peer);
    const auto inbox = take<OfferedInbox>(offer);
    std::byte* const there = open_.emplace_back(open_peer_memory(device_.info().index, inbox.memory)).get();
    links_.link[link] = {inbox_.as<PeerFlags>() + link, reinterpret_cast<PeerFlags*>(there + inbox.flags)};
    const DenseMessages dense = dense_messages<T>(messages, peer, send_tag);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const FieldView<T> mine = fields[f].view;
      const auto field = take<OfferedField>(offer);
      std::byte* const origin =
          open_.emplace_back(open_peer_memory(device_.info().index, field.memory)).get() + field.origin;
      const FieldView<T> theirs{reinterpret_cast<T*>(origin), field.pitch_y, field.pitch_z, {}, mine.ghosts};
      PeerMessages<T>& bound = fields_[f].messages;
      for (const HaloMessage& m : messages) {
        if (m.peer != peer) continue;
        bind_store(f, m, theirs, there + inbox.columns, link);
        if (m.direction[0] != 0) bind_columns(f, m, mine);
        const auto place = dense.places.find(send_tag(m));
        const bool to_is_dense = place != dense.places.end();
        const FieldView<T> to =
            to_is_dense
                ? dense_view(reinterpret_cast<T*>(there + inbox.cells + place->second), m.edge.extent())
                : theirs.part(m.peer_ghosts);
        PeerMessage<T>& message = bound.message[bound.count++];
        message = message_of(mine.part(m.edge), to, link);
        message.to_is_dense = to_is_dense;
      }
      bind_arrivals(link, peer, fields_[f], fields[f], messages);
    }
  }

  // The face of a message, for sweeps to store; sweeps store no edges or corners. `columns`: x-face buffers
  // of the peer, whose x faces are as large as this rank's.
  void bind_store(std::size_t field, const HaloMessage& m, FieldView<T> theirs, std::byte* columns,
                  int link) {
    const auto crossed = std::ranges::find_if(m.direction, [](int step) { return step != 0; });
    const bool is_face = std::ranges::count(m.direction, 0) == 2;
    const bool aligned = reinterpret_cast<std::uintptr_t>(theirs.origin) % 16 == 0;
    if (!is_face || !aligned) {
      serves_sweeps_ = false;
      return;
    }
    const bool upper = *crossed > 0;
    const int axis = static_cast<int>(crossed - m.direction.begin());
    FaceStore<T>& store = fields_[field].stores.faces[static_cast<int>(face(axis, upper))];
    store = {&theirs(m.peer_ghosts.lo), axis == 1 ? theirs.pitch_z : theirs.pitch_y, link};
    if (axis == 0) store = {reinterpret_cast<T*>(columns + column_of(field, !upper)), column_pitch_, link};
  }

  // The buffer to which the peer of a message stores its x face, and the copies between buffer and ghosts.
  void bind_columns(std::size_t field, const HaloMessage& m, FieldView<T> mine) {
    const bool upper = m.direction[0] > 0;
    T* const columns = reinterpret_cast<T*>(inbox_.as<std::byte>() + columns_at_ + column_of(field, upper));
    Bound& bound = fields_[field];
    bound.stores.columns[upper ? 1 : 0] = columns;
    const FieldView<T> ghosts = mine.part(m.ghosts), column{columns, 1, column_pitch_, ghosts.extent};
    bound.to_columns.message[bound.to_columns.count++] = message_of(ghosts, column, 0);
    bound.from_columns.message[bound.from_columns.count++] = message_of(column, ghosts, 0);
  }
  std::size_t column_of(std::size_t field, bool upper) const {
    return (2 * field + (upper ? 1 : 0)) * face_bytes_;
  }

  // Dense messages, which are unpacked from the inbox to the ghosts.
  void bind_arrivals(int link, int peer, Bound& bound, const HaloField<T>& field,
                     std::span<const HaloMessage> messages) {
    const DenseMessages dense = dense_messages<T>(messages, peer, receive_tag);
    std::byte* const cells = inbox_.as<std::byte>() + cells_of_[link];
    for (const HaloMessage& m : messages) {
      const auto place = dense.places.find(receive_tag(m));
      if (m.peer != peer || place == dense.places.end()) continue;
      T* const dense_cells = reinterpret_cast<T*>(cells + place->second);
      bound.arrivals.message[bound.arrivals.count++] =
          message_of(dense_view(dense_cells, m.ghosts.extent()), field.view.part(m.ghosts), link);
    }
  }

  // Memory may be freed only when no peer has it open. A peer that does not answer has failed, and all ranks
  // are about to be ended.
  void part() noexcept {
    open_.clear();
    disconnect(communicator_, peers_, disconnect_seconds);
  }

  Device& device_;
  Communicator communicator_;
  const PeerCopy<T>& copy_ = PeerCopy<T>::on_gpu();
  std::vector<int> peers_;  // by link
  // Inbox: flags of all links, dense cells of each link, and x-face buffers of each field.
  Buffer inbox_, progress_, abandoned_;
  std::vector<std::size_t> cells_of_;  // by link: byte offset
  std::size_t columns_at_ = 0;         // byte offset
  Index column_pitch_ = 0;             // cells
  std::size_t face_bytes_ = 0;  // of the columns of one face and field; none without neighbours across x
  std::vector<std::shared_ptr<std::byte>> open_;
  PeerLinks links_{};
  std::vector<Bound> fields_;
  bool serves_sweeps_;
  Stream stream_{};
};

// Why this device cannot access that of another rank; empty: it may. `visible`: to this process.
std::string why_no_access(const DeviceInfo& mine, const std::string& theirs,
                          const std::vector<DeviceInfo>& visible) {
  // A device that this process does not see may still be reachable: the test of the transport decides.
  for (const DeviceInfo& seen : visible) {
    int can = 1;
    if (seen.uuid != theirs || seen.index == mine.index) continue;
    if (cudaDeviceCanAccessPeer(&can, mine.index, seen.index) != cudaSuccess) cudaGetLastError();
    if (can == 0) return fmt::format("{} has no peer access to {}", mine.uuid, theirs);
  }
  return {};
}

}  // namespace

std::string why_no_peer_transport(const Device& device) {
  return device.backend() == Backend::host ? "needs a GPU" : "";
}

template <class T>
TransportMaker<T> peer_transports(Device& device, const Communicator& communicator) {
  const std::vector<std::string> uuids = communicator.all_gather(device.info().uuid),  // by rank
      here = communicator.split_by_host().all_gather(std::to_string(communicator.rank()));
  const bool alone = std::set(uuids.begin(), uuids.end()).size() == uuids.size();
  const auto connect = [&device, &communicator, alone](auto fields, auto messages) {
    return std::make_unique<PeerTransport<T>>(device, communicator, alone, fields, messages);
  };
  const auto why_not = [=, mine = device.info(), visible = find_cuda_devices().devices](int peer) {
    if (std::ranges::find(here, std::to_string(peer)) == here.end())
      return std::string("the ranks are on two hosts");
    return why_no_access(mine, uuids[peer], visible);
  };
  return {.connect = connect, .why_not = why_not};
}

template TransportMaker<float> peer_transports(Device&, const Communicator&);
template TransportMaker<double> peer_transports(Device&, const Communicator&);

}  // namespace isotherm
