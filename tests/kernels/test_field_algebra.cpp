// Combinations of two fields, against their definition, on every backend; compared with ==.
#include "kernels/field_algebra.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

class FieldAlgebraOf : public OnDevice {};

TEST_P(FieldAlgebraOf, CombinesTwoFields) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    // A copy, a swap, and any two combinations.
    const std::array<T, 4> factors[] = {{1, 0, 1, 0}, {0, 1, 1, 0}, {T(1.6), T(-0.6), T(0.3), T(-7)}};
    for (const Int3& n : shapes) {
      for (const auto& [xx, xy, yx, yy] : factors) {
        SCOPED_TRACE(text(n));
        Field<T> first = random_field<T>(*host_, n, 1, 1), second = random_field<T>(*host_, n, 1, 2);
        Field<T> x = to_device(*device_, first), y = to_device(*device_, second);
        for_each_cell(n, [&](Int3 cell) {
          T &a = first.view()(cell), &b = second.view()(cell);
          const T before = a;
          a = std::fma(xx, before, xy * b);
          b = std::fma(yx, before, yy * b);
        });
        functions(field_algebra<T>).combine({x.view(), y.view(), {{0, 0, 0}, n}, xx, xy, yx, yy}, {});
        expect_same_there(*device_, first, x);
        expect_same_there(*device_, second, y);
      }
    }
  });
}

ON_EACH_BACKEND(FieldAlgebraOf, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
