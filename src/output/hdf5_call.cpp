#include "output/hdf5_call.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "output/hdf5_version.hpp"

namespace isotherm {
namespace {

herr_t keep_first(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0 && error->desc) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

void start_hdf5() {
  H5dont_atexit();  // refused, harmlessly, on every call but the first
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

hid_t check_hdf5(hid_t result, const char* call, const std::string& path) {
  if (result >= 0) return result;
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  throw Error(ExitCode::io, fmt::format("{}: {} failed ({}); check the file system, its free space and quota",
                                        path, call, reason.empty() ? "HDF5 gives no reason" : reason));
}

std::string hdf5_library_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace isotherm
