// probes.csv: the temperatures at the deck's probes, a line each time. The same text on any rank count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "output/line_file.hpp"

namespace isotherm {

// Lines that begin with '#' and say where the probes are, then the column names: sweep, time_s, <name>_K, ...
std::string probes_head(const ProbesConfig& probes);
// Shortest digits that read back to the same number.
std::string probes_line(std::int64_t sweep, double time, const std::vector<double>& kelvins);

class ProbeFile {
 public:
  // `resumed`: the sweep from which the run goes on, as LineFile has it.
  ProbeFile(const std::filesystem::path& path, Console& console, const ProbesConfig& probes,
            std::optional<std::int64_t> resumed = {})
      : file_(path, console, probes_head(probes), "its probes", resumed) {}

  void add(std::int64_t sweep, double time, const std::vector<double>& kelvins) {
    file_.add(probes_line(sweep, time, kelvins));
  }
  void flush() { file_.flush(); }    // what was added is on the disk on return
  void finish() { file_.finish(); }  // the file is complete on return

 private:
  LineFile file_;
};

}  // namespace isotherm
