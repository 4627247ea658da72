#include "output/print.hpp"

#include <cstdio>

#include "core/error.hpp"

namespace isotherm {

void print_now(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw Error(ExitCode::io, "standard output cannot be written; check where it goes");
}

}  // namespace isotherm
