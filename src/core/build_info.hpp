// The sources and tools of this binary. Written by the build (cmake/WriteBuildInfo.cmake).
#pragma once

#include <string>

namespace isotherm {

struct BuildInfo {
  std::string version;       // "0.1.0"
  std::string git_revision;  // 12 digits, then "-modified" for a changed tree, "unknown" outside git
  std::string build_type;    // "Release"
  std::string compiler;      // "GNU 12.2.0"
  std::string cuda;          // "13.0.88 (80-real;90-real;90-virtual)" or "none"
  std::string hdf5;          // "parallel" or "serial"
};

const BuildInfo& build_info();

}  // namespace isotherm
