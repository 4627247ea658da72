// Stands in for thrust's: the numbers from `first` on.
#pragma once

namespace thrust {
template <class T>
struct counting_iterator {
  T first;
  explicit counting_iterator(T first_) : first(first_) {}
};
}  // namespace thrust
