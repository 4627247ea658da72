// What a run reports of `solver.depth: auto`: what was measured, what each depth would cost by it, and why
// the one that was taken was.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace isotherm {

struct DepthRecord {
  bool automatic = false;  // the deck left it open
  std::string why;         // where there was nothing to weigh
  struct Estimate {
    int depth = 1;
    double seconds = 0, messages = 0, cells = 0;  // of a sweep, of the rank with most neighbours
  };
  std::vector<Estimate> weighed;  // by depth, from 1

  double exchange_seconds = 0, message_seconds = 0, bytes_a_second = 0, cell_seconds = 0;  // as measured
  std::string transports;                                                                  // by which
  double seconds = 0;                                                                      // that it took
};

// One line: `depth` beside depth 1, or where it is 1 beside the cheapest other, and the costs. Empty where
// the deck says the depth.
std::string depth_line(const DepthRecord& record, int depth);

nlohmann::ordered_json to_json_object(const DepthRecord& record);

}  // namespace isotherm
