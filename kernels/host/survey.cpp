// The survey of a field in host memory, OpenMP over rows. Extremes and exact sums are free of order, so
// threads join theirs as they finish.
#include "kernels/survey.hpp"

#include "kernels/host/partition.hpp"
#include "kernels/host/rows.hpp"

namespace isotherm::host {
namespace {

// What a Part makes of value(a, b, c) over lo <= (a, b, c) < hi.
template <class Part, class Value>
Part gather(Box box, const Value& value) {
  Part all = Part::none();
#pragma omp parallel if (box.cells() >= cells_worth_threads)
  {
    Part mine = Part::none();
#pragma omp for collapse(2) schedule(static) nowait
    for (Index z = box.lo.z; z < box.hi.z; ++z) {
      for (Index y = box.lo.y; y < box.hi.y; ++y) {
        for (Index x = box.lo.x; x < box.hi.x; ++x) mine.add(value(x, y, z));
      }
    }
#pragma omp critical(isotherm_survey)
    all.join(mine);
  }
  return all;
}

template <class T>
void extremes(FieldView<const T> field, Extremes* result, void*, Stream) {
  *result = gather<Extremes>(field.interior(),
                             [=](Index x, Index y, Index z) { return static_cast<double>(field(x, y, z)); });
}

template <class T>
void sum(FieldView<const T> field, double scale, ExactSum* result, void*, Stream) {
  *result = gather<ExactSum>(field.interior(), [=](Index x, Index y, Index z) {
    return static_cast<double>(field(x, y, z)) * scale;
  });
}

template <class T>
Box cells_of(const WallJump<T>& jump) {
  return {{0, 0, 0}, {jump.extent_p(), jump.extent_q(), 1}};
}

template <class T>
void jump_extremes(const WallJump<T>& jump, Extremes* result, void*, Stream) {
  *result = gather<Extremes>(cells_of(jump), [&](Index p, Index q, Index) { return jump(p, q); });
}

template <class T>
void jump_sum(const WallJump<T>& jump, double scale, ExactSum* result, void*, Stream) {
  *result = gather<ExactSum>(cells_of(jump), [&](Index p, Index q, Index) { return jump(p, q) * scale; });
}

}  // namespace

template <class Isa, class T>
const FieldSurvey<T> FieldSurveyRows<Isa, T>::row = {extremes<T>, sum<T>, jump_extremes<T>, jump_sum<T>, 0};

template struct FieldSurveyRows<ISOTHERM_ISA, float>;
template struct FieldSurveyRows<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
