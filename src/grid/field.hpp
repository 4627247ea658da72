// The cells of one subdomain, with ghosts and padding, in a device's memory.
#pragma once

#include <limits>

#include "core/device.hpp"
#include "core/field_view.hpp"
#include "core/text.hpp"

namespace isotherm {

// Shape and padding of a field, without memory. Elements before the first ghost row align interior rows to
// `row_alignment` bytes. The ghosts at both ends of a row are stored in the padding between rows; those
// before a row have a multiple of 16 bytes.
struct FieldLayout {
  Int3 extent;
  int ghosts = 1;
  Index pitch_y = 0, pitch_z = 0;
  Index origin = 0;    // elements before cell (0, 0, 0)
  Index elements = 0;  // in all

  template <class T>
  FieldView<T> view(T* memory) const {
    return {memory + origin, pitch_y, pitch_z, extent, ghosts};
  }
  // Throws Error(deck) when the byte count overflows 63 bits.
  static FieldLayout make(Int3 extent, int ghosts, std::size_t element_bytes, std::ptrdiff_t row_alignment) {
    constexpr Index word_bytes = 16;  // the widest access of a thread, and the alignment of TMA copies
    const Index unit = row_alignment / static_cast<Index>(element_bytes);
    const Index rows_y = extent.y + 2 * ghosts, rows_z = extent.z + 2 * ghosts;
    FieldLayout layout{extent, ghosts};
    // The ghosts before a row take whole words, which hold no ghosts of the previous row.
    const Index before = round_up<Index>(ghosts, word_bytes / static_cast<Index>(element_bytes));
    layout.pitch_y = round_up(extent.x + before + ghosts, unit);
    const Index lead = round_up<Index>(ghosts, unit);

    Index elements = 0;
    if (__builtin_mul_overflow(layout.pitch_y, rows_y, &layout.pitch_z) ||
        __builtin_mul_overflow(layout.pitch_z, rows_z, &elements) ||
        elements > std::numeric_limits<Index>::max() / static_cast<Index>(2 * element_bytes))
      throw error_of(
          ExitCode::deck,
          "a subdomain of {} cells has more bytes than 64 bits can count; use a smaller grid or more ranks",
          extent_text(extent));
    layout.origin = lead + ghosts * (layout.pitch_y + layout.pitch_z);
    layout.elements = lead + elements;
    return layout;
  }
};

// Bytes of a field on a backend.
inline std::size_t field_bytes(Int3 extent, int ghosts, std::size_t element_bytes, Backend backend) {
  const FieldLayout layout = FieldLayout::make(extent, ghosts, element_bytes, row_alignment(backend));
  return static_cast<std::size_t>(layout.elements) * element_bytes;
}

template <class T>
class Field {
 public:
  // Does not initialise the cells: the first touch is FaceCopy::fill, by the threads that will sweep them.
  Field(Device& device, Int3 extent, int ghosts, Memory kind = Memory::device)
      : layout_(FieldLayout::make(extent, ghosts, sizeof(T), device.row_alignment())),
        buffer_(device, static_cast<std::size_t>(layout_.elements) * sizeof(T), kind) {}

  FieldView<T> view() { return layout_.view(buffer_.template as<T>()); }
  FieldView<const T> view() const { return layout_.view(buffer_.template as<const T>()); }
  // The whole allocation, for copies between fields of one layout.
  void* data() { return buffer_.data(); }
  const void* data() const { return buffer_.data(); }
  std::size_t bytes() const { return buffer_.bytes(); }

 private:
  FieldLayout layout_;
  Buffer buffer_;
};

}  // namespace isotherm
