// The survey of a field in host memory, OpenMP over rows. Extremes and exact sums are free of order, so
// threads join theirs as they finish.
#include "kernels/survey.hpp"

#include "kernels/host/partition.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

template <class T>
void extremes(FieldView<const T> field, Extremes* result, void*, Stream) {
  const Int3 n = field.extent;
  Extremes all = Extremes::none();
#pragma omp parallel if (n.product() >= cells_worth_threads)
  {
    Extremes mine = Extremes::none();
#pragma omp for collapse(2) schedule(static) nowait
    for (Index z = 0; z < n.z; ++z) {
      for (Index y = 0; y < n.y; ++y) {
        for (Index x = 0; x < n.x; ++x) mine.add(static_cast<double>(field(x, y, z)));
      }
    }
#pragma omp critical(isotherm_survey_extremes)
    all.join(mine);
  }
  *result = all;
}

// A face has few cells beside the body, so each is added to the accumulator at once.
template <class T>
void jump_sum(const BoundaryJump<T>& jump, LongAccumulator* result, Stream) {
  constexpr Index most_additions = Index{1} << 30;  // that an accumulator takes before it is normalised
  const Index np = jump.extent_p(), nq = jump.extent_q();
  LongAccumulator all{};
#pragma omp parallel if (np * nq >= cells_worth_threads)
  {
    LongAccumulator mine{};
    Index additions = 0;
#pragma omp for schedule(static) nowait
    for (Index q = 0; q < nq; ++q) {
      for (Index p = 0; p < np; ++p) {
        mine.add(jump(p, q));
        if (++additions < most_additions) continue;
        mine.normalise();
        additions = 0;
      }
    }
    mine.normalise();
#pragma omp critical(isotherm_survey_jumps)
    all.add(mine);
  }
  all.normalise();
  *result = all;
}

}  // namespace

template <class Isa, class T>
const FieldSurvey<T> FieldSurveyRows<Isa, T>::row = {extremes<T>, jump_sum<T>, 0};

template struct FieldSurveyRows<ISOTHERM_ISA, float>;
template struct FieldSurveyRows<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
