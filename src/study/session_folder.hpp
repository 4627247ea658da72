// A folder of its own for the files that Open MPI 4 keeps of a job.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace isotherm {

// Programs that one user runs on one host share a folder for these files, make it with the first and remove
// it with the last: one that begins while another ends was seen to fail in MPI_Init, once in a hundred starts
// ("mkdir ... File exists"). A study starts many at one time.
class SessionFolder {
 public:
  // `number`: another for each that lives at one time.
  explicit SessionFolder(std::size_t number) {
    folder_ = base() / fmt::format("isotherm-{}-{}", getpid(), number);
  }
  SessionFolder(SessionFolder&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  SessionFolder& operator=(SessionFolder&&) = delete;
  ~SessionFolder() {
    std::error_code ignored;  // there may be none
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  // Open MPI makes the folder.
  std::pair<std::string, std::string> variable() const { return {name, folder_.string()}; }

 private:
  static constexpr const char* name = "OMPI_MCA_orte_tmpdir_base";

  // Where the user wants these files, if anywhere.
  static std::filesystem::path base() {
    if (const char* wanted = std::getenv(name); wanted && *wanted) return wanted;
    std::error_code problem;
    const std::filesystem::path usual = std::filesystem::temp_directory_path(problem);
    return problem ? std::filesystem::path("/tmp") : usual;
  }

  std::filesystem::path folder_;
};

}  // namespace isotherm
