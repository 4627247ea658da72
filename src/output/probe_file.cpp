#include "output/probe_file.hpp"

#include <fmt/format.h>

#include <cmath>

namespace isotherm {

std::string probes_head(const ProbesConfig& probes) {
  std::string places, columns = "sweep,time_s";
  for (const ProbePoint& point : probes.points) {
    places += fmt::format("# {}: {} {} {} m\n", point.name, point.at[0], point.at[1], point.at[2]);
    columns += fmt::format(",{}_K", point.name);
  }
  return places + columns + "\n";
}

std::string probes_line(std::int64_t sweep, double time, const std::vector<double>& kelvins) {
  std::string line = fmt::format("{},{}", sweep, time);
  for (const double kelvin : kelvins)
    line += std::isnan(kelvin) ? ",nan" : fmt::format(",{}", kelvin);  // the sign of a NaN says nothing
  return line + "\n";
}

}  // namespace isotherm
