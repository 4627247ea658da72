// Where the functions of the interfaces with one struct per backend are, as FaceCopy<float>: each table is
// defined in the file of its functions, and registry.cpp finds it.
#pragma once

namespace isotherm {

namespace host {
struct AnySet {};  // where a file is not compiled for each instruction set, but once
template <class Isa, class Interface>
const Interface& functions();
}  // namespace host
namespace cuda {
template <class Interface>
const Interface& functions();
}  // namespace cuda

// Both precisions, T, of a table: `place` is functions<Isa> on the host, functions on a GPU.
#define ISOTHERM_FUNCTIONS(place, Interface, ...)             \
  ISOTHERM_FUNCTIONS_OF(float, place, Interface, __VA_ARGS__) \
  ISOTHERM_FUNCTIONS_OF(double, place, Interface, __VA_ARGS__)
#define ISOTHERM_FUNCTIONS_OF(Number, place, Interface, ...) \
  template <>                                                \
  const Interface<Number>& place() {                         \
    using T = Number;                                        \
    static constexpr Interface<T> table{__VA_ARGS__};        \
    return table;                                            \
  }

}  // namespace isotherm
