// The function tables of interfaces with one struct per backend, such as FaceCopy<float>. Each table is
// defined in the file of its functions; registry.cpp finds it.
#pragma once

namespace isotherm {

namespace host {
struct AnySet {};  // for files that are compiled once, not for each instruction set
template <class Isa, class Interface>
const Interface& functions();
}  // namespace host
namespace cuda {
template <class Interface>
const Interface& functions();
}  // namespace cuda

// Defines a table in both precisions T. `place` is functions<Isa> on the host, functions on a GPU.
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
