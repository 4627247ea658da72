// Defects, and changes that are added, of the field's precision and of a lower one, against their definition,
// on every backend; compared with ==.
#include "kernels/field_algebra.hpp"
#include "support.hpp"

namespace isotherm::test {
namespace {

class ChangeOf : public OnDevice {
 protected:
  template <class T, class Change>
  void expect_defects() {
    const Coefficients<T> c{T(0.01), T(0.2), T(0.17), T(0.125), T(1)};
    for (const Int3& n : shapes) {
      for (const bool has_source : {false, true}) {
        SCOPED_TRACE(text(n) + (has_source ? " with a source" : ""));
        const Field<T> field = random_field<T>(*host_, n, 1, 1), source = random_field<T>(*host_, n, 1, 2);
        Field<Change> expected = random_field<Change>(*host_, n, 2, 3);
        Field<Change> found = to_device(*device_, expected);
        Field<T> after = random_field<T>(*host_, n, 1, 4);
        for_each_cell(n, [&](Int3 at) {
          const T made = swept(c, field.view(), at, has_source ? source.view()(at) : T(0));
          after.view()(at) = made;
          expected.view()(at) = static_cast<Change>(T(3.7) * (made - field.view()(at)));
        });
        const Field<T> there = to_device(*device_, field), source_there = to_device(*device_, source);
        Defect<T, Change> defect{there.view(),
                                 has_source ? source_there.view() : FieldView<const T>{},
                                 c,
                                 found.view(),
                                 {{0, 0, 0}, n},
                                 T(3.7)};
        functions(change_transfer<T, Change>).find_defect(defect, {});
        expect_same_there(*device_, expected, found);
        expect_norms(defect, after, field);
      }
    }
  }

  // With the defect and without it.
  template <class T, class Change>
  void expect_norms(Defect<T, Change> defect, const Field<T>& after, const Field<T>& before) {
    const ChangeTransfer<T, Change>& transfer = functions(change_transfer<T, Change>);
    if (!transfer.norm_scratch_bytes) return;
    const Buffer result(*device_, sizeof(double));
    const Buffer scratch(*device_, transfer.norm_scratch_bytes(defect.region));
    for (const ReductionOp op : {ReductionOp::max_abs, ReductionOp::sum_abs, ReductionOp::sum_squares}) {
      defect.norm = {op, result.as<double>(), scratch.data(), false};
      transfer.find_defect(defect, {});
      const double truth = reduce_plainly(op, after, before, defect.region);
      EXPECT_NEAR(fetched<double>(*device_, result.data()), truth, 1e-12 * truth);
      defect.defect = {};
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
      functions(change_transfer<T, Change>).add(there.view(), found.view(), {{0, 0, 0}, n}, {});
      expect_same_there(*device_, expected, found);
    }
  }
};

TEST_P(ChangeOf, FindsTheDefect) {
  for_precision(GetParam().precision, [&]<class T>(T) { expect_defects<T, T>(); });
  expect_defects<double, float>();
}

TEST_P(ChangeOf, AddsTheChange) {
  for_precision(GetParam().precision, [&]<class T>(T) { expect_added<T, T>(); });
  expect_added<double, float>();
}

ON_EACH_BACKEND(ChangeOf, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
