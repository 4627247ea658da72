// Boundaries as the kernels see them, and the layout of fields.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>

#include "core/error.hpp"
#include "grid/field.hpp"
#include "physics/boundaries.hpp"
#include "physics/cells.hpp"
#include "support/devices.hpp"
#include "support/error_text.hpp"
#include "support/field_by_index.hpp"
#include "support/repeat.hpp"

namespace isotherm {
namespace {

constexpr double k = 15;  // W/(m K), steel

Config steel(Int3 cells = {5, 4, 3}) {
  Config config;
  config.name = "deck.yaml";
  config.grid.cells = cells;
  config.grid.spacing = Vector3{0.01, 0.02, 0.03};
  config.grid.origin = {1, -2, 3};
  config.material.conductivity = k;
  config.verify.solution = ExactSolution::formula;  // of differences of temperatures, which may be negative
  return config;
}

std::array<bool, face_count> only(Face f) {
  std::array<bool, face_count> boundaries{};
  boundaries[static_cast<std::size_t>(f)] = true;
  return boundaries;
}

BoundaryConfig& boundary_at(Config& config, Face f) {
  return config.boundaries[static_cast<std::size_t>(f)];
}

Box whole(const Config& config) {
  return {{0, 0, 0}, config.grid.cells};
}

// T = A + B s, s metres from the boundary into the body, solves every kind of boundary exactly: the ghost
// must be T(-h/2).
TEST(Boundaries, GhostOfALinearProfileIsExact) {
  Random random;
  const auto uniform = [&] { return random.between(-1.0, 1.0); };
  const auto device = make_host_device();
  for (int trial = 0; trial < 100; ++trial) {
    for (int i = 0; i < face_count; ++i) {
      const Face f = static_cast<Face>(i);
      Config config = steel();
      const double A = 300 + 50 * uniform(), B = 1000 * uniform(), H = 20 + 19 * uniform();
      const double h = spacing(config)[static_cast<std::size_t>(axis_of(f))];
      // Into the body flows -k dT/ds = -k B; a convecting boundary takes it from the surroundings: H (Ta -
      // A).
      const BoundaryConfig kinds[] = {{BoundaryKind::temperature, A, 0},
                                      {BoundaryKind::flux, -k * B, 0},
                                      {BoundaryKind::convection, A - k * B / H, H}};
      for (const BoundaryConfig& boundary : kinds) {
        boundary_at(config, f) = boundary;
        const BoundaryConditions<double> rules(config, *device, whole(config), 1, only(f));
        const Boundary<double>& rule = rules.boundaries().faces[i];
        ASSERT_TRUE(rule.is_boundary);
        EXPECT_NEAR(boundary_ghost(rule.a, rule.b_at(0, 0), A + B * h / 2), A - B * h / 2, 1e-9)
            << face_names[i] << " kind " << static_cast<int>(boundary.kind);
      }
    }
  }
}

TEST(Boundaries, InsulatedOnesAndNeighboursHaveNoValue) {
  const auto device = make_host_device();
  const BoundaryConditions<double> rules(steel(), *device, whole(steel()), 1, only(Face::y_max));
  const auto& faces = rules.boundaries().faces;
  EXPECT_EQ(faces[3].a, 1);
  EXPECT_EQ(faces[3].b, 0);
  EXPECT_FALSE(faces[4].is_boundary);
  EXPECT_FALSE(rules.vary_in_time());
  for (const auto& face : faces) EXPECT_EQ(face.b_field, nullptr);
}

// Every rank must see the value of the same global cell, in its ghosts too: y wraps, z is clamped.
TEST(Boundaries, FormulaOverTheFaceWrapsAndClampsInTheGhosts) {
  const auto device = make_host_device();
  Config config = steel({5, 4, 6});
  boundary_at(config, Face::y_min).kind = boundary_at(config, Face::y_max).kind = BoundaryKind::periodic;
  const Expression value("300 + 7*y*y + sin(z)", "yzt");
  boundary_at(config, Face::x_max) = {BoundaryKind::temperature, value, 0};
  const CellCentres centre(config);
  const int ghosts = 3;
  for (const Box subdomain : {whole(config), Box{{2, 1, 2}, {5, 3, 6}}, Box{{4, 3, 0}, {5, 4, 1}}}) {
    const BoundaryConditions<float> rules(config, *device, subdomain, ghosts, only(Face::x_max));
    const Boundary<float>& boundary = rules.boundaries().faces[static_cast<int>(Face::x_max)];
    const Int3 extent = subdomain.extent();
    for (Index z = -ghosts; z < extent.z + ghosts; ++z)
      for (Index y = -ghosts; y < extent.y + ghosts; ++y) {
        const Index gy = (subdomain.lo.y + y + 4 * ghosts) % 4;
        const Index gz = std::clamp(subdomain.lo.z + z, Index{0}, Index{5});
        const double expected = 2 * value(0, centre(1, gy), centre(2, gz));
        EXPECT_EQ(boundary.b_at(y, z), static_cast<float>(expected)) << y << " " << z;
      }
  }
}

TEST(Boundaries, FormulasOfTimeFollowIt) {
  const auto device = make_host_device();
  Config config = steel();
  boundary_at(config, Face::x_min) = {BoundaryKind::temperature, Expression("300 + 10*t", "yzt"), 0};
  boundary_at(config, Face::z_min) = {BoundaryKind::flux, Expression("x*t", "xyt"), 0};
  boundary_at(config, Face::z_max) = {BoundaryKind::flux, Expression("x", "xyt"), 0};
  BoundaryConditions<double> rules(config, *device, whole(config), 1,
                                   {true, false, false, false, true, true});
  EXPECT_TRUE(rules.vary_in_time());
  boundary_at(config, Face::y_max) = {BoundaryKind::temperature, Expression("y + 0*x", "xyzt"),
                                      0};  // its own y
  EXPECT_DOUBLE_EQ(BoundaryConditions<double>(config, *device, whole(config), 1, only(Face::y_max))
                       .boundaries()
                       .faces[3]
                       .b_at(0, 0),
                   2 * (-2 + 4 * 0.02));
  const double x = CellCentres(config)(0, 2);
  for (const double t : {0.0, 0.5, 2.0}) {
    rules.update(t, {});
    const auto& faces = rules.boundaries().faces;
    EXPECT_EQ(faces[0].b_field, nullptr);  // the same over the face: a number travels, not a field
    EXPECT_EQ(faces[0].b, 2 * (300 + 10 * t));
    EXPECT_DOUBLE_EQ(faces[4].b_at(2, 1), x * t * 0.03 / k);
    EXPECT_DOUBLE_EQ(faces[5].b_at(2, 1), x * 0.03 / k);
  }
}

TEST(Boundaries, ANonFiniteFormulaIsNamedWithItsCell) {
  const auto device = make_host_device();
  Config config = steel();
  config.places["boundaries.z_max.value"] = "deck.yaml:9:5";
  config.places["boundaries.z_max.ambient"] = "deck.yaml:9:7";
  const double y = CellCentres(config)(1, 2);
  for (const auto& [kind, place] :
       {std::pair(BoundaryKind::temperature, std::string("deck.yaml:9:5: boundaries.z_max.value: ")),
        std::pair(BoundaryKind::convection, std::string("deck.yaml:9:7: boundaries.z_max.ambient: "))}) {
    const std::string formula = fmt::format("sqrt({:.17g} - y)", y - 1e-6);
    boundary_at(config, Face::z_max) = {kind, Expression(formula, "xyt"), 25};
    const std::string said = refusal(
        [&] {
          BoundaryConditions<double>(config, *device, {{2, 1, 0}, {5, 4, 3}}, 1, only(Face::z_max));
        },
        ExitCode::deck);
    // The lowest cell of the block and its ghosts: x = 1 is a ghost's.
    expect_says(said, place + formula + " is not finite at cell (1, 2, 2)");
  }
}

TEST(Boundaries, AValueBeyondThePrecisionIsRejected) {
  const auto device = make_host_device();
  Config config = steel();
  boundary_at(config, Face::x_min) = {BoundaryKind::temperature, 3e38, 0};
  EXPECT_NO_THROW(BoundaryConditions<double>(config, *device, whole(config), 1, only(Face::x_min)));
  EXPECT_THROW(BoundaryConditions<float>(config, *device, whole(config), 1, only(Face::x_min)), Error);
}

// A device that copies as late as it may: when somebody waits. What is overwritten too early is seen.
class LazyDevice final : public WatchedDevice {
 public:
  using WatchedDevice::WatchedDevice;
  void copy(void* to, const void* from, std::size_t bytes, Stream) override {
    queue_.push_back([=] { std::memcpy(to, from, bytes); });
  }
  Event make_event() override { return {reinterpret_cast<void*>(++events_)}; }
  void release(Event) noexcept override {}
  void record(Event event, Stream) override { recorded_[event.native] = done_ + queue_.size(); }
  void wait(Stream, Event) override {}
  void synchronize(Event event) override { run_until(recorded_[event.native]); }
  bool passed(Event event) override { return recorded_[event.native] <= done_; }
  void synchronize(Stream) override { run_until(done_ + queue_.size()); }

  void run_one() { run_until(done_ + 1); }
  std::size_t queued() const { return queue_.size(); }

 private:
  void run_until(std::size_t count) {
    for (; done_ < count; ++done_, queue_.pop_front()) queue_.front()();
  }
  std::deque<std::function<void()>> queue_;
  std::map<void*, std::size_t> recorded_;
  std::size_t done_ = 0;
  std::uintptr_t events_ = 0;
};

TEST(Boundaries, UpdatesAheadOfTheDeviceDoNotOverwriteEachOther) {
  const auto host = make_host_device();
  LazyDevice device(*host);
  Config config = steel();
  boundary_at(config, Face::x_min) = {BoundaryKind::temperature, Expression("y + t", "yzt"), 0};
  const double y = CellCentres(config)(1, 0);
  {
    BoundaryConditions<double> rules(config, device, whole(config), 1, only(Face::x_min));
    EXPECT_EQ(device.queued(), 0u);
    double executed = 0;  // updates whose copy has been made
    for (int step = 1; step <= 6; ++step) {
      rules.update(step, {});
      while (device.queued() > 1) {  // the host ran ahead by one: let the older copy happen now
        device.run_one();
        executed += 1;
        EXPECT_DOUBLE_EQ(rules.boundaries().faces[0].b_at(0, 0), 2 * (y + executed));
      }
    }
    device.synchronize(Stream{});
    EXPECT_DOUBLE_EQ(rules.boundaries().faces[0].b_at(0, 0), 2 * (y + 6));

    // Three updates at once: the third waits for the first copy, and the last value wins.
    for (const double t : {10.0, 20.0, 30.0}) rules.update(t, {});
    EXPECT_EQ(device.queued(), 2u);
    device.run_one();
    EXPECT_DOUBLE_EQ(rules.boundaries().faces[0].b_at(0, 0), 2 * (y + 20));
    device.run_one();
    EXPECT_DOUBLE_EQ(rules.boundaries().faces[0].b_at(0, 0), 2 * (y + 30));
  }
}

TEST(Boundaries, TemperaturesBelowZeroAreNamed) {
  const auto device = make_host_device();
  Config config = steel();
  config.verify.solution = ExactSolution::none;
  boundary_at(config, Face::x_min) = {BoundaryKind::temperature, Expression("100*(y + 1.9)", "yzt"), 0};
  const auto rules = [&] {
    BoundaryConditions<double>(config, *device, whole(config), 1, only(Face::x_min));
  };
  const std::string said = deck_error(rules);
  expect_says(said, "boundaries.x_min.value: -9");
  expect_says(said, "below absolute zero");
  boundary_at(config, Face::x_min).kind = BoundaryKind::flux;
  EXPECT_NO_THROW(rules());
}

template <class T>
void expect_aligned_rows(Device& device, Int3 extent, int ghosts) {
  Field<T> field(device, extent, ghosts);
  const FieldView<T> view = field.view();
  const auto unit = static_cast<std::uintptr_t>(device.row_alignment());
  const Box padded = view.padded();
  for_each_cell({{0, padded.lo.y, padded.lo.z}, {1, padded.hi.y, padded.hi.z}}, [&](Int3 c) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&view(c)) % unit, 0u) << c.y << ", " << c.z;
  });
  const T* const first = static_cast<const T*>(field.data());
  EXPECT_GE(&view(padded.lo), first);
  EXPECT_LE(&view(padded.hi - Int3{1, 1, 1}), first + field.bytes() / sizeof(T) - 1);
  EXPECT_GE(view.pitch_y, extent.x + 2 * ghosts);
  EXPECT_LT(view.pitch_y * static_cast<Index>(sizeof(T)),
            (extent.x + 2 * ghosts) * static_cast<Index>(sizeof(T)) + 16 + device.row_alignment());
}

TEST(Field, RowsStartWhereTheirDeviceWantsThem) {
  const auto host = make_host_device();
  EXPECT_EQ(host->row_alignment(), row_alignment(Backend::host));
  for (const Int3 extent : {Int3{1, 1, 1}, Int3{13, 3, 2}, Int3{16, 2, 3}, Int3{31, 2, 2}, Int3{256, 3, 1}})
    for (const int ghosts : {0, 1, 2, 4}) {
      expect_aligned_rows<float>(*host, extent, ghosts);
      expect_aligned_rows<double>(*host, extent, ghosts);
    }
}

// A GPU, as far as fields see one.
class WideDevice final : public WatchedDevice {
 public:
  using WatchedDevice::WatchedDevice;
  Backend backend() const override { return Backend::cuda; }
  std::ptrdiff_t row_alignment() const override { return isotherm::row_alignment(Backend::cuda); }
};

TEST(Field, OfAMirrorHasTheLayoutOfWhatItMirrors) {
  const auto host = make_host_device();
  WideDevice gpu(*host);
  const auto mirror = make_host_of(gpu);
  expect_aligned_rows<float>(gpu, {17, 3, 2}, 1);
  Field<float> there(gpu, {17, 3, 2}, 1), here(*mirror, {17, 3, 2}, 1), own(*host, {17, 3, 2}, 1);
  EXPECT_EQ(here.view().pitch_y, there.view().pitch_y);
  EXPECT_EQ(here.bytes(), there.bytes());
  EXPECT_LT(own.bytes(), there.bytes());
}

}  // namespace
}  // namespace isotherm
