// Combinations of two fields; defects and added changes, in the field's precision and in a lower one;
// products and steps of conjugate gradients. Compared with their definition by ==, on every backend.
#include "kernels/conjugate_steps.hpp"
#include "kernels/field_algebra.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

class FieldAlgebraOf : public OnDevice {
 protected:
  template <class T, class Change>
  void expect_defects() {
    const Coefficients<T> c{T(0.01), T(0.2), T(0.17), T(0.125), T(1), T(0.7)};
    for (const Int3& n : shapes) {
      for (const bool has_source : {false, true}) {
        SCOPED_TRACE(text(n) + (has_source ? " with a source" : ""));
        const Field<T> field = random_field<T>(*host_, n, 1, 1), source = random_field<T>(*host_, n, 1, 2);
        Field<Change> expected = random_field<Change>(*host_, n, 2, 3);
        Field<Change> found = to_device(*device_, expected);
        Field<T> after = random_field<T>(*host_, n, 1, 4);
        for_each_cell(n, [&](Int3 at) {
          const T made = swept(c, field.view(), at, has_source ? source.view()(at) : c.heat);
          after.view()(at) = made;
          expected.view()(at) = static_cast<Change>(T(3.7) * (made - field.view()(at)));
        });
        const Field<T> there = to_device(*device_, field), source_there = to_device(*device_, source);
        const FieldView<const T> source_view = has_source ? source_there.view() : FieldView<const T>{};
        const Box whole{{0, 0, 0}, n};
        Defect<T, Change> defect{there.view(), source_view, c, found.view(), whole, T(3.7)};
        const ChangeTransfer<T, Change> transfer = functions(ChangeTransfer<T, Change>::on);
        transfer.find_defect(defect, {});
        expect_same_there(*device_, expected, found);
        if (!transfer.norm_scratch_bytes) continue;
        const Buffer result(*device_, sizeof(double));
        const Buffer scratch(*device_, transfer.norm_scratch_bytes(whole));
        for (const ReductionOp op : all_norms) {  // the defect is stored with the first only
          defect.norm = {op, result.as<double>(), scratch.data(), false};
          transfer.find_defect(defect, {});
          defect.defect = {};
          double truth = 0;
          kernel_named(reduction_kernels<T>(), "reference")
              .launch({after.view(), field.view(), whole, op, &truth, nullptr}, {});
          EXPECT_NEAR(fetched_value<double>(*device_, result), truth, 1e-12 * truth);
        }
      }
    }
  }

  template <class T, class Change>
  void expect_added() {
    for (const Int3& n : shapes) {
      SCOPED_TRACE(text(n));
      const Field<Change> change = random_field<Change>(*host_, n, 2, 1);
      Field<T> expected = random_field<T>(*host_, n, 1, 2), found = to_device(*device_, expected);
      for_each_cell(n, [&](Int3 at) { expected.view()(at) += static_cast<T>(change.view()(at)); });
      const Field<Change> there = to_device(*device_, change);
      functions(ChangeTransfer<T, Change>::on).add(there.view(), found.view(), {{0, 0, 0}, n}, {});
      expect_same_there(*device_, expected, found);
    }
  }
};

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
        functions(FieldAlgebra<T>::on).combine({x.view(), y.view(), {{0, 0, 0}, n}, xx, xy, yx, yy}, {});
        expect_same_there(*device_, first, x);
        expect_same_there(*device_, second, y);
      }
    }
  });
}

TEST_P(FieldAlgebraOf, FindsTheDefect) {
  for_precision(GetParam().precision, [&]<class T>(T) { expect_defects<T, T>(); });
  expect_defects<double, float>();
}

TEST_P(FieldAlgebraOf, AddsTheChange) {
  for_precision(GetParam().precision, [&]<class T>(T) { expect_added<T, T>(); });
  expect_added<double, float>();
}

TEST_P(FieldAlgebraOf, SumsProductsExactlyAndStepsOfConjugateGradients) {
  for_precision(GetParam().precision, [&]<class T>(T) {
    for (const Int3& n : shapes) {
      SCOPED_TRACE(text(n));
      Field<T> field = random_field<T>(*host_, n, 1, 30), field_there = to_device(*device_, field);
      std::vector<Field<float>> here, there;  // residual, correction, brought, step, image
      for (unsigned i = 0; i < 5; ++i) {
        here.push_back(random_field<float>(*host_, n, i == 1 ? 1 : 0, 40 + i));
        there.push_back(to_device(*device_, here.back()));
      }
      const ConjugateFields<T> fields{field_there.view(),
                                      there[0].view(),
                                      std::as_const(there[1]).view(),
                                      std::as_const(there[2]).view(),
                                      there[3].view(),
                                      there[4].view(),
                                      {{0, 0, 0}, n}};
      std::array<LongAccumulator, conjugate_products> expected{};
      const ConjugateParts parts{0.7F, -0.3F};
      for_each_cell(n, [&](Int3 cell) {
        float &r = here[0].view()(cell), &d = here[3].view()(cell), &ad = here[4].view()(cell);
        const float z = here[1].view()(cell), az = -here[2].view()(cell);
        const double terms[] = {double(z) * az, double(z) * ad, double(r) * z};
        for (int i = 0; i < conjugate_products; ++i) {
          expected[i].add(terms[i]);
          expected[i].normalise();
        }
        d = std::fma(parts.of_correction, z, parts.of_last * d);
        ad = std::fma(parts.of_correction, az, parts.of_last * ad);
        r -= ad;
        field.view()(cell) += d;
      });
      const Buffer sums(*device_, sizeof(expected));
      const ConjugateSteps<T> kernels = functions(ConjugateSteps<T>::on);
      kernels.products(fields, sums.template as<LongAccumulator>(), {});
      const auto found = fetched<LongAccumulator>(*device_, sums);
      for (int i = 0; i < conjugate_products; ++i)
        EXPECT_TRUE(same_bits(found[i], expected[i])) << "product " << i;
      kernels.take(fields, parts, {});
      expect_same_there(*device_, field, field_there);
      for (std::size_t i = 0; i < 5; ++i) expect_same_there(*device_, here[i], there[i]);
    }
  });
}

ON_EACH_BACKEND(FieldAlgebraOf, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
