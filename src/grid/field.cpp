#include "grid/field.hpp"

#include <limits>

#include "core/text.hpp"

namespace isotherm {

constexpr Index word_bytes = 16;  // the widest access of a thread, and the alignment of TMA copies

FieldLayout FieldLayout::make(Int3 extent, int ghosts, std::size_t element_bytes,
                              std::ptrdiff_t row_alignment) {
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

}  // namespace isotherm
