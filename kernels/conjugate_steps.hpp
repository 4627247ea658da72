// Conjugate gradients for A T = s, A symmetric, where something else finds corrections (here V cycles): which
// part of a correction, and of the step before it, leaves the least error in the norm of A (flexible
// conjugate gradients; Notay, SIAM J. Sci. Comput. 22, 2000). One struct a backend.
//
// Corrections and steps are in fp32. Sums are exact, so that the same parts are taken by any kernel, backend,
// rank count and process grid.
#pragma once

#include "core/field_view.hpp"
#include "core/stream.hpp"
#include "kernels/long_accumulator.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// All of one block. Layouts may differ.
template <class T>
struct ConjugateFields {
  FieldView<T> field, residual;       // T and s - A T
  FieldView<const float> correction;  // z
  FieldView<const float> brought;     // -A z
  FieldView<float> step, image;       // the last step, d, and A d
  FieldView<float> rounded;           // the residual, for the next correction
  Box region;                         // interior indices
};

// Sums over cells; r is the residual.
enum ConjugateProduct : int { z_Az, z_Ad, d_Ad, r_z, r_d, conjugate_products };

// The products of one cell, each rounded to fp64 once.
template <class T>
ISOTHERM_HOST_DEVICE void products_of(T residual, float correction, float brought, float step, float image,
                                      double (&products)[conjugate_products]) {
  const auto r = static_cast<double>(residual);
  const double z = correction, az = -brought, d = step, ad = image;
  products[z_Az] = z * az;
  products[z_Ad] = z * ad;
  products[d_Ad] = d * ad;
  products[r_z] = r * z;
  products[r_d] = r * d;
}

// The parts of z and of d that a step has.
struct ConjugateParts {
  float of_correction = 1, of_last = 0;
};

// All become those after the step.
template <class T>
ISOTHERM_HOST_DEVICE void take_step(ConjugateParts parts, T& field, T& residual, float correction,
                                    float brought, float& step, float& image, float& rounded) {
  step = fused_multiply_add(parts.of_correction, correction, parts.of_last * step);
  image = fused_multiply_add(-parts.of_correction, brought, parts.of_last * image);
  residual -= image;
  field += step;
  rounded = static_cast<float>(residual);
}

template <class T>
struct ConjugateSteps {
  // Of this block, normalised: conjugate_products of them, in this device's memory, in stream order.
  void (*products)(const ConjugateFields<T>& fields, LongAccumulator* sums, Stream stream);
  void (*take)(const ConjugateFields<T>& fields, ConjugateParts parts, Stream stream);
};

template <class T>
const ConjugateSteps<T>& conjugate_steps(Backend backend);  // throws as face_copy() does

// Where the backends have it.
namespace host {
template <class Isa, class T>
struct ConjugateStepFunctions {
  static const ConjugateSteps<T> functions;
};
}  // namespace host
namespace cuda {
template <class T>
const ConjugateSteps<T>& conjugate_steps_cuda();
}

}  // namespace isotherm
