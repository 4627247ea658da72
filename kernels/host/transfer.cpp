// Copies, reads and writes of arrays by all threads, for the bandwidth probes of the host. The copy with
// streaming stores measures the copy bandwidth that every report is compared with.
#include <omp.h>

#include <bit>
#include <type_traits>

#include "kernels/host/host_kernels.hpp"
#include "kernels/host/vector.hpp"

namespace isotherm::host {
namespace {

// Each thread takes its part of `count`, in whole runs of `unit`; the last one takes the rest.
template <class Body>
void for_each_part(Index count, Index unit, const Body& body) {
#pragma omp parallel if (count >= cells_worth_threads)
  {
    const Index threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const Range runs = part_of({0, count / unit}, thread, threads);
    body(runs.lo * unit, thread + 1 == threads ? count : runs.hi * unit);
  }
}

// Stores *source(i) in element i of `to`. The source elements of a vector are contiguous.
template <class Isa, class T, class Source>
void store_all(T* to, Index count, Store store, const Source& source) {
  using V = Vector<Isa, T, widest<Isa>>;
  for_each_part(count, 16, [=](Index lo, Index hi) {
    Index i = lo;
    if (store == Store::streaming) {
      for (; i + V::lanes <= hi; i += V::lanes) V::store_streaming(to + i, V::load(source(i)));
      stream_fence();
    } else {
      for (; i + V::lanes <= hi; i += V::lanes) V::store(to + i, V::load(source(i)));
    }
    for (; i < hi; ++i) to[i] = *source(i);
  });
}

}  // namespace

template <class Isa, class T>
void Transfer<Isa, T>::fill(T* to, Index count, T (*value)(Index)) {
  for_each_part(count, 16, [=](Index lo, Index hi) {
    for (Index i = lo; i < hi; ++i) to[i] = value(i);
  });
}

template <class Isa, class T>
void Transfer<Isa, T>::copy(T* to, const T* from, Index count, Store store) {
  store_all<Isa>(to, count, store, [=](Index i) { return from + i; });
}

template <class Isa, class T>
void Transfer<Isa, T>::write(T* to, Index count, const T (&pattern)[16], Store store) {
  store_all<Isa>(to, count, store, [first = pattern](Index i) { return first + i % 16; });
}

template <class Isa, class T>
std::uint64_t Transfer<Isa, T>::read(const T* from, Index count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Bits total = 0;
#pragma omp parallel reduction(+ : total) if (count >= cells_worth_threads)
  {
    const Range mine = part_of({0, count}, omp_get_thread_num(), omp_get_num_threads());
    Bits sum = 0;
    for (Index i = mine.lo; i < mine.hi; ++i) sum += std::bit_cast<Bits>(from[i]);
    total += sum;
  }
  return total;
}

template <class Isa, class T>
void Transfer<Isa, T>::copy_strided(T* to, const T* from, Index count, Index stride) {
  for_each_part(count / stride, 1, [=](Index lo, Index hi) {
    for (Index i = lo * stride; i < hi * stride; i += stride) to[i] = from[i];
  });
}

template struct Transfer<ISOTHERM_ISA, float>;
template struct Transfer<ISOTHERM_ISA, double>;

}  // namespace isotherm::host
