#include "halo/links.hpp"

#include <cstdint>
#include <thread>

#include "core/all_or_throw.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"
#include "halo/handshake.hpp"
#include "kernels/face_copy.hpp"

namespace isotherm {
namespace {

constexpr double timing_seconds = 0.004;  // of the exchanges of one transport and one pair
constexpr int batches = 3, most_repeats = 20;

// The pattern's value in a cell: an integer that fp32 represents exactly, and that is not the poison.
template <class T>
T pattern(int rank, int field, Int3 cell) {
  std::uint64_t bits = 0;
  for (const Index value : {Index{rank}, Index{field}, cell.x, cell.y, cell.z}) {
    bits = (bits ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    bits ^= bits >> 29;
  }
  return static_cast<T>(bits >> 44);
}
constexpr double poison = -1;

// Exchanges with a time limit, whatever the peer does. A transport that exceeds it is abandoned.
template <class T>
class BoundedTransport {
 public:
  BoundedTransport(Device& device, std::unique_ptr<Transport<T>> transport, double seconds)
      : device_(device),
        transport_(std::move(transport)),
        seconds_(seconds),
        stream_(own_stream(device, Priority::high)),
        done_(own_event(device)) {}
  BoundedTransport& operator=(BoundedTransport&&) = delete;
  // Memory to which MPI or a GPU may still write is never freed.
  ~BoundedTransport() {
    if (!hangs_) return;
    transport_->abandon();
    static_cast<void>(transport_.release());
  }

  Stream stream() const { return stream_; }

  // Queues `count` exchanges one after the other, as in a run, of the fields in turn. Returns the seconds
  // until they are done. Throws Error(unavailable) at the time limit.
  double exchange(std::span<const HaloField<T>> fields, int count) {
    const Timer timer;
    for (int i = 0; i < count; ++i) {
      const FieldView<T> field = fields[static_cast<std::size_t>(i) % fields.size()].view;
      transport_->send(field, stream_);
      wait_until(timer, [&] { return transport_->arrived(); });
      transport_->receive(field, stream_);
    }
    device_.record(done_, stream_);
    wait_until(timer, [&] { return device_.passed(done_); });
    return timer.seconds();
  }

 private:
  template <class Condition>
  void wait_until(const Timer& timer, Condition holds) {
    while (!holds()) {
      if (timer.seconds() > seconds_) {
        hangs_ = true;
        throw error_of(ExitCode::unavailable, "no answer within {:.3g} s", seconds_);
      }
      std::this_thread::yield();
    }
  }

  Device& device_;
  std::unique_ptr<Transport<T>> transport_;
  double seconds_;
  bool hangs_ = false;
  Owned<Stream> stream_;
  Owned<Event> done_;
};

template <class T>
class LinkProbe {
 public:
  LinkProbe(const TriedLink<T>& link, const OpenTransport<T>& open)
      : link_(link), device_(link.device), open_(open), peer_(link.messages.front().peer) {}

  TransportMeasurement run(bool timed) {
    verdict_.why_not = open_.why_not.empty() ? open_.maker->why_not(peer_) : open_.why_not;
    settle();
    verify();
    TransportMeasurement measurement{std::string(open_.entry->name), "", 0, 0};
    if (timed) {
      std::vector<HaloMessage> cells;
      for (const HaloMessage& m : link_.messages) cells.push_back(one_cell_of(m));
      measurement.seconds = time(link_.messages);
      measurement.latency = time(cells);
    }
    measurement.why_not = verdict_.why_not;
    return measurement;
  }

 private:
  struct Verdict {
    double seconds = 0;
    std::string why_not;
  };
  bool good() const { return verdict_.why_not.empty(); }

  // Both sides take the worse of the two verdicts, with the same text.
  void settle() {
    std::string mine;
    append(mine, verdict_.seconds);
    mine += verdict_.why_not;
    const std::string answer = swap_texts(link_.communicator, {&peer_, 1}, {&mine, 1}).front();
    std::string_view rest = answer;
    const auto their_seconds = take<double>(rest);
    const Verdict theirs{their_seconds, std::string(rest)};
    const int rank = link_.communicator.rank();
    const Verdict &low = rank < peer_ ? verdict_ : theirs, &high = rank < peer_ ? theirs : verdict_;
    std::string why_not = low.why_not.empty() ? high.why_not : low.why_not;
    if (!high.why_not.empty() && high.why_not != why_not) {
      why_not = fmt::format("rank {}: {}; rank {}: {}", std::min(rank, peer_), low.why_not,
                            std::max(rank, peer_), high.why_not);
    }
    verdict_ = {std::max(low.seconds, high.seconds), why_not};
  }

  // Runs `work` on both ranks or, after an error on either, on none.
  template <class Work>
  void attempt(const Work& work) {
    if (!good()) return;
    try {
      work();
    } catch (const std::exception& e) {
      verdict_.why_not = e.what();
    }
    settle();
  }

  // Writes the pattern to the edges and the poison to the ghosts.
  void fill_pattern(const HaloField<T>& field, int index, Stream stream) {
    const FaceCopy<T>& copy = FaceCopy<T>::on(device_.backend());
    const auto put = [&](Box box, auto value) {
      for_each_cell(box, [&, next = host_.as<T>()](Int3 cell) mutable { *next++ = value(cell); });
      device_.copy(dense_.data(), host_.data(), static_cast<std::size_t>(box.cells()) * sizeof(T), stream);
      copy.unpack(dense_.as<T>(), field.view, box, stream);
      device_.synchronize(stream);
    };
    for (const HaloMessage& m : link_.messages) {
      put(m.edge, [&](Int3 cell) { return pattern<T>(link_.communicator.rank(), index, cell); });
      put(m.ghosts, [](Int3) { return static_cast<T>(poison); });
    }
  }

  std::string compare(const HaloField<T>& field, int index, Stream stream) {
    std::size_t wrong = 0, all = 0;
    for (const HaloMessage& m : link_.messages) {
      FaceCopy<T>::on(device_.backend()).pack(field.view, m.ghosts, dense_.as<T>(), stream);
      device_.copy(host_.data(), dense_.data(), m.cells() * sizeof(T), stream);
      device_.synchronize(stream);
      for_each_cell(m.peer_edge, [&, next = host_.as<T>()](Int3 cell) mutable {
        wrong += *next++ != pattern<T>(peer_, index, cell);
      });
      all += m.cells();
    }
    return wrong == 0 ? "" : fmt::format("{} of {} cells arrived wrong", wrong, all);
  }

  // Tests every field, because a transport may access each in its own way. Both ranks poison their ghosts
  // before either sends: settle() synchronises the two.
  void verify() {
    std::optional<BoundedTransport<T>> bounded;
    // If one side has abandoned this transport with another peer, the other side would wait here.
    attempt([&] {
      verdict_.why_not = open_.maker->why_broken();
      dense_ = Buffer(device_, std::ranges::max(link_.messages, {}, &HaloMessage::cells).cells() * sizeof(T));
      host_ = Buffer(device_, dense_.bytes(), Memory::staging);
    });
    attempt(
        [&] { bounded.emplace(device_, open_.maker->connect(link_.fields, link_.messages), link_.timeout); });
    for (int i = 0; i < static_cast<int>(link_.fields.size()); ++i) {
      const HaloField<T>& field = link_.fields[i];
      attempt([&] { fill_pattern(field, i, bounded->stream()); });
      attempt([&] {
        verdict_.seconds = bounded->exchange(std::span(&field, 1), 1);
        if (open_.entry->moves_data) verdict_.why_not = compare(field, i, bounded->stream());
      });
    }
  }

  // s of one exchange in a queued batch, on the slower rank: in a run the host is ahead of its device, so the
  // time to detect the end of an exchange delays none. 0 where it fails.
  double time(std::span<const HaloMessage> messages) {
    attempt([&] {
      const double wanted = timing_seconds / batches / std::max(verdict_.seconds, 1e-9);
      const int repeats = static_cast<int>(std::clamp<double>(wanted, 1, most_repeats));
      BoundedTransport<T> bounded(device_, open_.maker->connect(link_.fields, messages), link_.timeout);
      bounded.exchange(link_.fields, 1);  // the first of a connection takes longer
      std::vector<double> seconds;
      for (int i = 0; i < batches; ++i) seconds.push_back(bounded.exchange(link_.fields, repeats) / repeats);
      verdict_.seconds = median(seconds);
    });
    return good() ? verdict_.seconds : 0;
  }

  const TriedLink<T>& link_;
  Device& device_;
  const OpenTransport<T>& open_;
  int peer_;
  Verdict verdict_;
  Buffer dense_, host_;  // one message
};

std::string names_of(auto registry, std::string_view without = {}) {
  std::vector<std::string_view> names;
  for (const auto& each : registry)
    if (each.moves_data && each.name != without) names.push_back(each.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The fastest that works; empty where none does. Both ranks have the same figures and choose the same.
std::string fastest(const std::vector<TransportMeasurement>& measurements) {
  const TransportMeasurement* best = nullptr;
  for (const TransportMeasurement& measurement : measurements) {
    if (measurement.why_not.empty() && (!best || measurement.seconds < best->seconds)) best = &measurement;
  }
  return best ? best->transport : "";
}

[[noreturn]] void reject(const TransportSettings& settings, const HaloLink& link, const std::string& names) {
  const std::string pair =
      fmt::format("between ranks {} and {}", std::min(link.rank, link.peer), std::max(link.rank, link.peer));
  if (settings.name != "auto")
    throw error_of(ExitCode::unavailable,
                   "{}: transport '{}' does not work {} ({}); use auto, or another of: {}", settings.place,
                   settings.name, pair, link.measurements.front().why_not, names);
  std::vector<std::string> reasons;
  for (const TransportMeasurement& each : link.measurements)
    reasons.push_back(fmt::format("{}: {}", each.transport, each.why_not));
  throw error_of(ExitCode::unavailable,
                 "{}: no transport works {} ({}); look at the MPI library and the network between them",
                 settings.place, pair, fmt::join(reasons, "; "));
}

// A test that failed on one link may have broken its transport on all.
template <class T>
void drop_broken(const Communicator& communicator, const std::vector<OpenTransport<T>>& candidates,
                 std::vector<HaloLink>& links) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::optional<TransportMaker<T>>& maker = candidates[i].maker;
    const std::string why = communicator.first_of_all(maker ? maker->why_broken() : "");
    for (HaloLink& link : links) {
      if (link.measurements[i].why_not.empty()) link.measurements[i].why_not = why;
    }
  }
}

}  // namespace

template <class T>
TransportMeasurement TriedLink<T>::try_transport(const OpenTransport<T>& open, bool timed) const {
  return LinkProbe<T>(*this, open).run(timed);
}

template <class T>
OpenTransport<T>::OpenTransport(const TransportEntry<T>& row, const Communicator& ranks, Device& device)
    : entry(&row) {
  try {
    all_or_throw(ranks, [&] {
      if (const std::string why = row.unsupported(device); !why.empty())
        throw Error(ExitCode::unavailable, why);
    });
    communicator = std::make_unique<Communicator>(ranks.duplicate());
    maker = all_or_throw(ranks, [&] { return row.make(device, *communicator); });
  } catch (const Error& e) {
    why_not = e.what();
  }
}

template <class T>
ChosenTransports<T>::ChosenTransports(const TransportSettings& settings,
                                      std::span<const TransportEntry<T>> registry,
                                      const Decomposition& decomposition, int ghosts,
                                      const Communicator& communicator, Device& device,
                                      std::span<const HaloField<T>> fields) {
  const int rank = communicator.rank();
  std::vector<OpenTransport<T>> candidates;
  for (const TransportEntry<T>& entry : registry)
    if (settings.name == entry.name || (settings.name == "auto" && entry.moves_data))
      candidates.emplace_back(entry, communicator, device);
  if (candidates.empty())  // the same on all ranks, as they have one deck
    throw error_of<CollectiveError>(
        ExitCode::deck, "{}: there is no transport '{}' (isotherm list names them); use auto, or one of: {}",
        settings.place, settings.name, names_of(registry));
  const Communicator own = communicator.duplicate();
  const std::vector<HaloMessage> messages = halo_messages(decomposition, rank, ghosts);
  // Pair by pair, so that no other traffic of this rank disturbs a measurement.
  for (const int peer : rounds_of_pairs(decomposition, rank, ghosts)) {
    if (peer < 0) continue;
    HaloLink link{rank, peer, {}, 0, "", {}};
    TriedLink<T> tried{device, own, fields, {}, settings.timeout};
    for (const HaloMessage& m : messages) {
      if (m.peer != peer) continue;
      tried.messages.push_back(m);
      link.directions.push_back(m.direction);
      link.bytes += m.cells() * sizeof(T);
    }
    const bool timed = settings.timed || candidates.size() > 1;
    for (const OpenTransport<T>& each : candidates)
      link.measurements.push_back(tried.try_transport(each, timed));
    links.push_back(std::move(link));
  }
  drop_broken(communicator, candidates, links);
  for (HaloLink& link : links) link.transport = fastest(link.measurements);
  all_or_throw(communicator, [&] {
    for (const HaloLink& link : links) {
      if (link.transport.empty()) reject(settings, link, names_of(registry, settings.name));
    }
  });
  for (OpenTransport<T>& c : candidates) {
    const bool mine = std::ranges::find(links, c.entry->name, &HaloLink::transport) != links.end();
    if (communicator.any(mine)) open.push_back(std::move(c));
  }
}

template struct TriedLink<float>;
template struct TriedLink<double>;
template struct OpenTransport<float>;
template struct OpenTransport<double>;
template struct ChosenTransports<float>;
template struct ChosenTransports<double>;

}  // namespace isotherm
