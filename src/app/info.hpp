// `isotherm info FILE`: what a snapshot says of itself, and whether it is true.
#pragma once

#include <string>

namespace isotherm {

enum class InfoPart { summary, deck };

// Prints to standard output and returns 0. The summary recomputes the fingerprint from the cells and throws
// Error(deck) behind the print where it is not the file's own. Throws as read_snapshot_header.
int print_info(const std::string& path, InfoPart part = InfoPart::summary);

}  // namespace isotherm
