// `isotherm bench halo`: every transport across every face of a subdomain; pack and wire are timed apart.
#include <algorithm>

#include "app/bench/bench.hpp"
#include "core/all_or_throw.hpp"
#include "core/text.hpp"
#include "halo/links.hpp"
#include "kernels/face_copy.hpp"
#include "output/records/run_record.hpp"

namespace isotherm {
namespace {

constexpr double probe_timeout = 10;  // s
constexpr int most_of_a_batch = 50;

// Ranks form a ring along an axis. Even ranks exchange in direction `d`, odd ones in the opposite direction.
template <class T>
class FaceBench {
 public:
  FaceBench(const Bench& bench, Field<T>& field, int ghosts, Direction d)
      : bench_(bench),
        face_(direction_word(d)),
        ghosts_(ghosts),
        fields_{halo_field(field)},
        cells_(field.view().extent) {
    Int3 grid{1, 1, 1}, all = cells_;
    std::array<bool, 3> periodic{};
    for (int axis = 0; axis < 3; ++axis) {
      if (d[axis] == 0) continue;
      grid[axis] = bench.world.size();
      all[axis] *= grid[axis];
      periodic[axis] = true;
    }
    const Decomposition ring(all, grid, periodic, ghosts);
    const int sign = bench.world.rank() % 2 == 0 ? 1 : -1;
    for (const HaloMessage& m : halo_messages(ring, bench.world.rank(), ghosts)) {
      if (m.direction == Direction{sign * d[0], sign * d[1], sign * d[2]}) messages_.push_back(m);
    }
  }

  Json measure(OpenTransport<T>& open) {
    const std::size_t bytes = messages_.front().cells() * sizeof(T);
    const bool moves = open.entry->moves_data;
    const Verification verification = verify(open);
    double pack = 0, unpack = 0;        // s, of the device; 0 where the transport needs none
    std::vector<double> queued, alone;  // s per exchange: in a batch, as in a run; with a synchronisation
    std::optional<double> wire, bandwidth;
    if (verification.verdict == BenchVerdict::right) {
      if (open.entry->packs) time_packs(bytes, pack, unpack);
      const auto transport =
          all_or_throw(bench_.world, [&] { return open.maker->connect(fields_, messages_); });
      queued = time_queued(*transport, verification.expected);
      alone = time_alone(*transport, verification.expected);
      wire = median(queued) - pack - unpack;
      if (moves) bandwidth = static_cast<double>(bytes) / median(queued);
    }
    const auto measured = [](double seconds) { return seconds > 0 ? Json(seconds) : Json(); };
    return {{"transport", open.entry->name},
            {"face", face_},
            {"ghosts", ghosts_},
            {"precision", sizeof(T) == 4 ? Precision::fp32 : Precision::fp64},
            {"cells", cells_},
            {"bytes", bytes},
            {"verdict", verification.verdict},
            {"note", verification.note.empty() && !moves ? "nothing is moved" : verification.note},
            {"pack_s", measured(pack)},
            {"wire_s", wire},
            {"unpack_s", measured(unpack)},
            {"latency_s", measured(verification.latency)},
            {"exchange_s", spread_json(queued)},
            {"alone_s", spread_json(alone)},
            {"bandwidth_bytes_per_s", bandwidth},
            {"samples", {{"exchange_s", queued}, {"alone_s", alone}}}};
  }

 private:
  struct Verification {
    BenchVerdict verdict;  // skipped: the transport is unavailable; wrong: it has failed
    std::string note;
    double latency, expected;  // s per exchange in a batch: of one cell, and of all cells
  };

  Verification verify(const OpenTransport<T>& open) {
    const Communicator own = bench_.world.duplicate();
    const TransportMeasurement measurement =
        TriedLink<T>{bench_.device, own, fields_, messages_, probe_timeout}.try_transport(open, true);
    const bool missing = !open.maker || !open.maker->why_not(messages_.front().peer).empty();
    const std::string note = bench_.world.first_of_all(measurement.why_not);
    const bool anyone_lacks_it = bench_.world.any(missing);
    return {note.empty()      ? BenchVerdict::right
            : anyone_lacks_it ? BenchVerdict::skipped
                              : BenchVerdict::wrong,
            note, bench_.slowest(measurement.latency), bench_.slowest(measurement.seconds)};
  }

  // Times of the device, per launch of a batch.
  void time_packs(std::size_t bytes, double& pack, double& unpack) {
    const FaceCopy<T>& copy = FaceCopy<T>::on(bench_.device.backend());
    const HaloMessage& m = messages_.front();
    const Buffer dense(bench_.device, bytes);
    const FieldView<T> field = fields_.front().view;
    Sampler sampler(bench_.device, bench_.stream, bench_.options.seconds / 4);
    const auto seconds = [&](const std::function<void()>& launch) {
      return bench_.slowest(median(sampler.measure({launch}, {}).seconds));
    };
    pack = seconds([&] { copy.pack(field, m.edge, dense.as<T>(), bench_.stream); });
    unpack = seconds([&] { copy.unpack(dense.as<T>(), field, m.ghosts, bench_.stream); });
  }

  // Repeats `sample`, which takes about `expected` seconds; returns seconds of the slowest rank. Half of the
  // time of an entry is for packing and unpacking, a quarter each for exchanges in batches and alone.
  template <class Sample>
  std::vector<double> samples(double expected, const Sample& sample) const {
    const double wanted = bench_.options.seconds / 4 / std::max(expected, 1e-9);
    std::vector<double> seconds(
        static_cast<std::size_t>(std::clamp<double>(wanted, Sampler::least_samples, Sampler::most_samples)));
    for (double& each : seconds) each = sample();
    bench_.world.all_reduce<double>(seconds, ReduceOp::max);
    return seconds;
  }

  void exchange(Transport<T>& transport) {
    transport.send(fields_.front().view, bench_.stream);
    transport.receive(fields_.front().view, bench_.stream);
  }

  // As in a run, the host queues ahead of the device. An exchange before each batch synchronises the ranks.
  std::vector<double> time_queued(Transport<T>& transport, double expected) {
    const double fit = Sampler::batch_seconds / std::max(expected, 1e-9);
    const int count = static_cast<int>(std::clamp<double>(fit, 1, most_of_a_batch));
    Stopwatch watch(bench_.device, bench_.stream);
    return samples(count * expected, [&] {
      exchange(transport);
      return watch.seconds([&] {
        for (int i = 0; i < count; ++i) exchange(transport);
      }) / count;
    });
  }

  std::vector<double> time_alone(Transport<T>& transport, double expected) {
    return samples(expected, [&] {
      const Timer timer;
      exchange(transport);
      bench_.device.synchronize(bench_.stream);
      return timer.seconds();
    });
  }

  const Bench& bench_;
  std::string face_;
  int ghosts_;
  std::vector<HaloField<T>> fields_;
  Int3 cells_;
  std::vector<HaloMessage> messages_;
};

template <class T>
std::vector<Json> measure_all(const Bench& bench, Int3 cells) {
  std::vector<OpenTransport<T>> transports;
  for (const TransportEntry<T>& entry : transport_registry<T>())
    if (is_wanted(entry.name, bench.options)) transports.emplace_back(entry, bench.world, bench.device);
  std::vector<Json> entries;
  for (const int ghosts : bench.options.ghosts) {
    Field<T> field = all_or_throw(bench.world, [&] { return Field<T>(bench.device, cells, ghosts); });
    FaceCopy<T>::on(bench.device.backend()).fill(field.view(), T(0), bench.stream);
    bench.device.synchronize(bench.stream);
    for (OpenTransport<T>& open : transports)
      for (const Direction d : face_directions())
        entries.push_back(FaceBench<T>(bench, field, ghosts, d).measure(open));
  }
  return entries;
}

void check_usage(const Bench& bench, const std::vector<Int3>& sizes) {
  const int ranks = bench.world.size();
  if (ranks % 2 != 0)
    throw error_of(
        ExitCode::command_line,
        "bench: halo needs an even number of ranks, and {} {} started; use mpirun -np 2 isotherm bench halo",
        ranks, ranks == 1 ? "was" : "were");
  const int most = *std::ranges::max_element(bench.options.ghosts);
  for (const Int3 cells : sizes) {
    if (std::min({cells.x, cells.y, cells.z}) >= most) continue;
    throw error_of(ExitCode::command_line,
                   "bench: a subdomain of {} cells has no {} layers for its neighbour; use larger --sizes or "
                   "fewer --ghosts",
                   extent_text(cells), most);
  }
}

BenchMemory halo_memory(const Bench& bench, Int3 cells, Precision precision) {
  const double ranks_here = bench.world.split_by_host().size();  // at most, of one device
  const double bytes =
      ranks_here * field_bytes(cells, *std::ranges::max_element(bench.options.ghosts), precision);
  return bench.on_host() ? BenchMemory{0, bytes} : BenchMemory{bytes, 0};
}

std::vector<Json> measure_halos(const Bench& bench, Int3 cells, Precision precision) {
  return with_number(precision, [&]<class T>(T) { return measure_all<T>(bench, cells); });
}

}  // namespace

const Subject halo_subject{[](Backend backend) { return names_of(transport_registry<double>(), backend); },
                           halo_memory, measure_halos, check_usage};

}  // namespace isotherm
