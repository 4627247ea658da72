// Conjugate gradients: products are exact sums, and a step is its definition, on every
// backend; compared with ==.
#include "kernels/conjugate_steps.hpp"

#include "support.hpp"

namespace isotherm::test {
namespace {

class ConjugateStepsOf : public OnDevice {};

TEST_P(ConjugateStepsOf, SumExactlyAndStep) {
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
      LongAccumulator expected[conjugate_products] = {}, found[conjugate_products];
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
      const Buffer sums(*device_, sizeof(found));
      const ConjugateSteps<T> kernels = functions(conjugate_steps<T>);
      kernels.products(fields, sums.template as<LongAccumulator>(), {});
      device_->copy(found, sums.data(), sizeof(found), {});
      device_->synchronize(Stream{});
      for (int i = 0; i < conjugate_products; ++i)
        EXPECT_EQ(std::memcmp(&found[i], &expected[i], sizeof(LongAccumulator)), 0) << "product " << i;
      kernels.take(fields, parts, {});
      expect_same_there(*device_, field, field_there);
      for (std::size_t i = 0; i < 5; ++i) expect_same_there(*device_, here[i], there[i]);
    }
  });
}

ON_EACH_BACKEND(ConjugateStepsOf, backend_cases(backend));

}  // namespace
}  // namespace isotherm::test
