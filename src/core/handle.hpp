// Owns an id from a C library, and releases it with `close`.
#pragma once

#include <utility>

namespace isotherm {

// Negative ids are invalid, as in HDF5. The destructor cannot report an error: where one matters, call
// `release` and close by hand.
template <class Id, auto close>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Id id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    Handle taken(std::move(other));
    std::swap(id_, taken.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close(id_);
  }

  bool valid() const { return id_ >= 0; }
  Id get() const { return id_; }
  Id release() { return std::exchange(id_, Id{-1}); }

 private:
  Id id_{-1};
};

}  // namespace isotherm
