#include "app/list.hpp"

#include <fmt/format.h>

#include "core/device.hpp"
#include "core/text.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {
namespace {

// The tables of both precisions hold the same rows.
template <class Row>
const char* availability(const Row& row) {
  return row.available() ? "yes" : "not in this build";
}

TextTable stencil_table() {
  TextTable table{"lllll", {{"name", "backend", "depth", "available", "remark"}}};
  for (const auto& row : stencil_kernels<double>()) {
    table.rows.push_back({std::string(row.name), word(row.backend),
                          row.max_depth > 1 ? fmt::format("1-{}", row.max_depth) : "1", availability(row),
                          std::string(row.remark)});
  }
  return table;
}

TextTable reduction_table() {
  TextTable table{"llll", {{"name", "backend", "available", "remark"}}};
  for (const auto& row : reduction_kernels<double>()) {
    table.rows.push_back(
        {std::string(row.name), word(row.backend), availability(row), std::string(row.remark)});
  }
  return table;
}

TextTable transport_table() {
  return {"lll",
          {{"name", "available", "remark"},
           {"host", "yes",
            "non-blocking MPI over host memory; a GPU's faces are staged through pinned buffers"}}};
}

std::string device_text() {
  TextTable table{"llll", {{"device", "name", "memory", "remark"}}};
  const auto host = make_host_device();
  const DeviceInfo processor = host->info();
  table.rows.push_back({"cpu", processor.name, human_bytes(static_cast<double>(host->memory().total_bytes)),
                        processor.detail});
  const CudaDevices cuda = find_cuda_devices();
  for (const DeviceInfo& gpu : cuda.devices) {
    table.rows.push_back({fmt::format("cuda {}", gpu.index), gpu.name, "", gpu.detail});
  }
  std::string text = table.text(2);
  if (cuda.devices.empty()) text += fmt::format("  no CUDA device: {}\n", cuda.why_none);
  return text;
}

}  // namespace

std::string list_text() {
  return fmt::format(
      "stencil kernels (solver.kernel)\n{}\nreductions (solver.reduction)\n{}\ntransports\n{}\ndevices\n{}",
      stencil_table().text(2), reduction_table().text(2), transport_table().text(2), device_text());
}

}  // namespace isotherm
