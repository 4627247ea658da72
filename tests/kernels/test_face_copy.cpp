// Packing, unpacking, copies within a field, ghosts beyond boundaries, filling: on every backend.
#include "kernels/face_copy.hpp"

#include <cmath>

#include "support.hpp"

namespace isotherm::test {
namespace {

// A backend, or the host with one instruction set, and a precision.
std::vector<KernelCase> backend_cases(Backend backend) {
  return cases_of(std::vector<NamedBackend>{{backend == Backend::host ? "host" : "cuda", backend}}, backend);
}

template <class T>
FaceCopy<T> face_copy_of(const KernelCase& c) {
  FaceCopy<T> copy = face_copy<T>(c.backend);
  if (c.instruction_set.empty()) return copy;
  for_instruction_set(c.instruction_set,
                      [&](auto isa) { copy = host::FaceCopyFunctions<decltype(isa), T>::functions; });
  return copy;
}

// Every cell holds its own number, so that a cell out of place is seen.
template <class T>
Field<T> numbered(Device& host, Int3 extent, int ghosts) {
  Field<T> field(host, extent, ghosts);
  for (std::size_t i = 0; i < elements(field); ++i) begin(field)[i] = static_cast<T>(i);
  return field;
}

class FaceCopyOf : public OnDevice {};

// Slabs at the six faces, an edge, a corner, all of the padded block.
std::vector<Box> boxes_of(Int3 n, int g) {
  const Box padded{{-g, -g, -g}, {n.x + g, n.y + g, n.z + g}};
  std::vector<Box> boxes = {padded, {{0, 0, 0}, n}, {{-g, -g, 0}, {0, 0, n.z}}, {{-g, -g, -g}, {0, 0, 0}}};
  for (int axis = 0; axis < 3; ++axis) {
    Box low = padded, high = padded;
    low.hi[axis] = 0;
    high.lo[axis] = n[axis];
    boxes.push_back(low);
    boxes.push_back(high);
  }
  return boxes;
}

TEST_P(FaceCopyOf, PacksXFastestAndUnpacksWhatItPacked) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const FaceCopy<T> copy = face_copy_of<T>(GetParam());
    // The last has more planes than a grid has blocks along z.
    for (Int3 n : {Int3{1, 1, 1}, Int3{17, 5, 3}, Int3{3, 17, 29}, Int3{64, 40, 33}, Int3{2, 1, 70001}}) {
      for (int g : {1, 2, 4}) {
        if (n.z > 70000 && g > 1) continue;
        const Field<T> field = to_device(*device_, numbered<T>(*host_, n, g));
        const Field<T> numbers = numbered<T>(*host_, n, g);
        for (const Box& box : boxes_of(n, g)) {
          SCOPED_TRACE(text(n) + " ghosts " + std::to_string(g) + " box " + text(box));
          const auto cells = static_cast<std::size_t>(box.cells());
          const Buffer dense(*device_, cells * sizeof(T));
          copy.pack(field.view(), box, dense.template as<T>(), {});
          std::vector<T> packed(cells);
          device_->copy(packed.data(), dense.data(), dense.bytes(), {});
          device_->synchronize(Stream{});
          std::size_t i = 0;
          Field<T> expected = filled<T>(*host_, n, g, T(-1));
          for_each_cell(box, [&](Int3 c) {
            EXPECT_EQ(packed[i++], numbers.view()(c));
            expected.view()(c) = numbers.view()(c);
          });
          Field<T> target = to_device(*device_, filled<T>(*host_, n, g, T(-1)));
          copy.unpack(dense.template as<T>(), target.view(), box, {});
          expect_same_there(*device_, expected, target);
        }
      }
    }
  });
}

TEST_P(FaceCopyOf, CopiesABoxWithinTheField) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Int3 n{19, 11, 7};
    for (int g : {1, 2, 4}) {
      for (int axis = 0; axis < 3; ++axis) {
        Box from{{-g, -g, -g}, {n.x + g, n.y + g, n.z + g}};
        from.lo[axis] = n[axis] - g;
        from.hi[axis] = n[axis];
        Int3 shift;
        shift[axis] = -n[axis];
        const Box to = from.shifted(shift);
        Field<T> field = to_device(*device_, numbered<T>(*host_, n, g));
        face_copy_of<T>(GetParam()).copy_within(field.view(), from, to, {});
        Field<T> expected = numbered<T>(*host_, n, g);
        for_each_cell(to, [&](Int3 c) { expected.view()(c) = expected.view()(c - shift); });
        expect_same_there(*device_, expected, field);
      }
    }
  });
}

// b of a boundary over the face and its ghosts, in memory of the device; tangential extents n and m.
template <class T>
struct FaceValues {
  FaceValues(Device& device, Index n, Index m, int ghosts, std::uint64_t seed)
      : pitch(n + 2 * ghosts), values(static_cast<std::size_t>(pitch * (m + 2 * ghosts))) {
    std::mt19937_64 random(seed);
    for (T& value : values) value = static_cast<T>(static_cast<double>(random() % 1000) / 7);
    buffer = buffer_of(device, values);
    origin = ghosts + ghosts * pitch;
  }
  Index pitch, origin = 0;
  std::vector<T> values;
  Buffer buffer;
};

// Boundaries on the faces whose bit is set in `mask`; the odd ones have a field of b. The region is the
// block, or reaches `extend` cells into the ghosts where no boundary stands.
template <class T>
void check_boundaries(const FaceCopy<T>& copy, Device& device, Device& host, Int3 n, int ghosts, int extend,
                      unsigned mask) {
  Boundaries<T> boundaries, on_host;
  std::vector<FaceValues<T>> values;
  values.reserve(face_count);
  for (int f = 0; f < face_count; ++f) {
    const int axis = f / 2;
    Boundary<T> boundary{(mask >> f & 1) != 0, T(-1) + T(f) / 7, T(300 + f) / 3, nullptr, 0};
    values.emplace_back(device, axis == 0 ? n.y : n.x, axis == 2 ? n.y : n.z, ghosts, f + 1);
    on_host.faces[f] = boundaries.faces[f] = boundary;
    if (f % 2 == 0) continue;
    boundaries.faces[f].pitch = on_host.faces[f].pitch = values.back().pitch;
    boundaries.faces[f].b_field = values.back().buffer.template as<T>() + values.back().origin;
    on_host.faces[f].b_field = values.back().values.data() + values.back().origin;
  }
  Field<T> field = to_device(device, random_field<T>(host, n, ghosts, 21));
  Box region{{0, 0, 0}, n};
  for (int f = 0; f < face_count; ++f) {
    if (boundaries.faces[f].is_boundary) continue;
    f % 2 == 1 ? region.hi[f / 2] += extend : region.lo[f / 2] -= extend;
  }
  copy.fill_boundaries(field.view(), boundaries, region, {});
  Field<T> expected = random_field<T>(host, n, ghosts, 21);
  for_each_cell(expected.view().padded(), [&](Int3 c) {
    int boundary_axis = -1;
    for (int axis = 0; axis < 3; ++axis) {
      const bool beyond_low = c[axis] < 0, beyond_high = c[axis] >= n[axis];
      if (!beyond_low && !beyond_high) continue;
      const bool is_boundary = on_host.faces[2 * axis + beyond_high].is_boundary;
      const Index depth = beyond_low ? -c[axis] : c[axis] - n[axis] + 1;
      if (is_boundary && depth == 1 && boundary_axis == -1) {
        boundary_axis = axis;
      } else if (is_boundary || depth > extend) {
        return;  // beyond two boundaries, or further than asked
      }
    }
    if (boundary_axis < 0) return;
    const bool high = c[boundary_axis] > 0;
    const Boundary<T>& boundary = on_host.faces[2 * boundary_axis + high];
    Int3 inside = c;
    inside[boundary_axis] += high ? -1 : 1;
    const T b = boundary_axis == 0   ? boundary.b_at(c.y, c.z)
                : boundary_axis == 1 ? boundary.b_at(c.x, c.z)
                                     : boundary.b_at(c.x, c.y);
    expected.view()(c) = std::fma(boundary.a, expected.view()(inside), b);
  });
  expect_same_there(device, expected, field);
}

TEST_P(FaceCopyOf, FillsTheGhostsBeyondBoundariesAndNoOthers) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (Int3 n : {Int3{1, 1, 1}, Int3{7, 5, 3}, Int3{2, 9, 33}, Int3{130, 129, 2}}) {
      for (int ghosts : {1, 3}) {
        for (int extend : {0, ghosts - 1}) {
          for (unsigned mask = 0; mask < 64; ++mask) {
            const bool few = n.x > 100 && mask % 21 != 0;  // none, every other one, all
            if (few) continue;
            SCOPED_TRACE(text(n) + " ghosts " + std::to_string(ghosts) + " extend " + std::to_string(extend) +
                         " walls " + std::to_string(mask));
            check_boundaries<T>(face_copy_of<T>(GetParam()), *device_, *host_, n, ghosts, extend, mask);
          }
        }
      }
    }
  });
}

// A region that ends before a boundary needs none of its ghosts, and of the others only those beside it.
TEST_P(FaceCopyOf, FillsOnlyWhatTheRegionLooksInto) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    const Int3 n{9, 8, 7};
    Boundaries<T> boundaries;
    for (Boundary<T>& boundary : boundaries.faces) boundary = {true, T(-1), T(5), nullptr, 0};
    for (const Box& region :
         {Box{{1, 1, 1}, {8, 7, 6}}, Box{{0, 2, 1}, {9, 8, 6}}, Box{{3, 3, 3}, {3, 8, 7}}}) {
      SCOPED_TRACE(text(region));
      Field<T> field = to_device(*device_, random_field<T>(*host_, n, 2, 21));
      face_copy_of<T>(GetParam()).fill_boundaries(field.view(), boundaries, region, {});
      Field<T> expected = random_field<T>(*host_, n, 2, 21);
      for_each_cell(region, [&](Int3 c) {
        for (int f = 0; f < face_count; ++f) {
          const int axis = f / 2, step = f % 2 == 1 ? 1 : -1;
          if (c[axis] != (f % 2 == 1 ? n[axis] - 1 : 0)) continue;
          Int3 ghost = c;
          ghost[axis] += step;
          expected.view()(ghost) = std::fma(T(-1), expected.view()(c), T(5));
        }
      });
      expect_same_there(*device_, expected, field);
    }
  });
}

TEST_P(FaceCopyOf, FillsEveryPaddedCell) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (Int3 n : {Int3{1, 1, 1}, Int3{17, 5, 3}, Int3{40, 37, 41}, Int3{200, 1, 90}}) {
      for (int g : {1, 4}) {
        SCOPED_TRACE(text(n));
        Field<T> field = to_device(*device_, filled<T>(*host_, n, g, T(-1)));
        face_copy_of<T>(GetParam()).fill(field.view(), T(293.15), {});
        expect_same_there(*device_, filled<T>(*host_, n, g, T(293.15)), field);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Host, FaceCopyOf, testing::ValuesIn(backend_cases(Backend::host)), label_of);
INSTANTIATE_TEST_SUITE_P(Cuda, FaceCopyOf, testing::ValuesIn(backend_cases(Backend::cuda)), label_of);

}  // namespace
}  // namespace isotherm::test
