// Flexible conjugate gradients for A T = s with a symmetric A (Notay, SIAM J. Sci. Comput. 22, 2000). V
// cycles supply the corrections; a step combines a correction with the previous step so that the error is
// least in the norm of A. One struct per backend.
//
// Corrections and steps are in fp32. Sums are exact, so every kernel, backend, rank count and process grid
// takes the same steps.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// Fields of one subdomain. Layouts may differ.
template <class T>
struct ConjugateFields {
  FieldView<T> field;                 // T
  FieldView<float> residual;          // r = s - A T
  FieldView<const float> correction;  // z
  FieldView<const float> brought;     // -A z
  FieldView<float> step, image;       // the last step, d, and A d
  Box region;                         // interior indices
};

// Sums over cells. After a step r d is 0, and d A d follows from these.
enum ConjugateProduct : int { z_Az, z_Ad, r_z, conjugate_products };

// The products of one cell, which fp64 holds exactly.
ISOTHERM_HOST_DEVICE void products_of(float residual, float correction, float brought, float image,
                                      double (&products)[conjugate_products]) {
  const double z = correction;
  products[z_Az] = z * -static_cast<double>(brought);
  products[z_Ad] = z * static_cast<double>(image);
  products[r_z] = z * static_cast<double>(residual);
}

// A step is of_correction z + of_last d. `shift`, K, is also added to all cells: where no boundary fixes the
// mean, the equations do not determine it.
struct ConjugateParts {
  float of_correction = 1, of_last = 0;
  double shift = 0;
};

// Updates all values to those after the step.
template <class T>
ISOTHERM_HOST_DEVICE void take_step(ConjugateParts parts, T& field, float& residual, float correction,
                                    float brought, float& step, float& image) {
  step = fused_multiply_add(parts.of_correction, correction, parts.of_last * step);
  image = fused_multiply_add(-parts.of_correction, brought, parts.of_last * image);
  residual -= image;
  field += step;
  field += static_cast<T>(parts.shift);
}

template <class T>
struct ConjugateSteps {
  static const ConjugateSteps& on(Backend backend);  // throws as FaceCopy::on()
  // The conjugate_products sums of this subdomain, normalised, in this device's memory, in stream order.
  void (*products)(const ConjugateFields<T>& fields, LongAccumulator* sums, Stream stream);
  void (*take)(const ConjugateFields<T>& fields, ConjugateParts parts, Stream stream);
};

}  // namespace isotherm
