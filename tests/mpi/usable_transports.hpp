// The transports that tests hold for: `auto`, and the rows of the table that can work here, those of the
// device less those whose ranks cannot meet.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/agree.hpp"
#include "core/communicator.hpp"
#include "halo/transport.hpp"

namespace isotherm {

// Collective. Rank 0 says which rows are left out, and why.
inline std::vector<std::string> usable_transports(Device& device, const Communicator& communicator) {
  std::vector<std::string> usable{"auto"};
  for (const TransportRow<double>& row : transport_rows<double>()) {
    if (!row.moves_data) continue;
    std::string why = row.unsupported(device);
    try {
      if (why.empty()) agree(communicator, [&] { row.make(device, communicator); });
    } catch (const Error& e) {
      why = e.what();
    }
    if (why.empty()) {
      usable.emplace_back(row.name);
    } else if (communicator.is_root()) {
      fmt::print("transport {} is left out: {}\n", row.name, why);
    }
  }
  return usable;
}

}  // namespace isotherm
