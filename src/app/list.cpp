#include "app/list.hpp"

#include <fmt/format.h>

#include "core/device.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "kernels/histogram.hpp"
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

// Of reductions and histograms.
template <class Rows>
TextTable row_table(const Rows& rows) {
  TextTable table{"llll", {{"name", "backend", "available", "remark"}}};
  for (const auto& row : rows) {
    table.rows.push_back(
        {std::string(row.name), word(row.backend), availability(row), std::string(row.remark)});
  }
  return table;
}

template <class T>
void add_resources(std::vector<ResourceLine>& lines) {
  const char* precision = sizeof(T) == 4 ? "fp32" : "fp64";
  for (const auto& row : stencil_kernels<T>()) {
    if (row.resources && !(row.unsupported && !row.unsupported(0).empty()))
      lines.push_back({std::string(row.name), precision, std::string(row.policies[0]), row.resources(0)});
  }
  for (const auto& row : reduction_kernels<T>()) {
    if (row.resources) lines.push_back({std::string(row.name), precision, "-", row.resources()});
  }
}

// Needs a context on the device: the driver may still have to compile the rows for it.
std::string resources_text() {
  constexpr const char* title = "what the CUDA rows take of a multiprocessor";
  const CudaDevices found = find_cuda_devices();
  if (found.devices.empty()) return fmt::format("{}\n  not known here: {}\n", title, found.why_none);
  try {
    const auto device = make_cuda_device(found.devices.front().index);
    std::vector<ResourceLine> lines;
    add_resources<float>(lines);
    add_resources<double>(lines);
    return fmt::format("{} of {}\n{}", title, device->info().name, resource_table(lines));
  } catch (const Error& error) {
    return fmt::format("{}\n  not known here: {}\n", title, error.what());
  }
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

std::string resource_table(const std::vector<ResourceLine>& lines) {
  TextTable table{
      "lllrrrrrr",
      {{"row", "precision", "policy", "threads", "registers", "shared", "spilled", "blocks", "occupancy"}}};
  for (const ResourceLine& line : lines) {
    const KernelResources& r = line.resources;
    table.rows.push_back({line.name, line.precision, line.policy, fmt::format("{}", r.threads),
                          fmt::format("{}", r.registers), human_bytes(static_cast<double>(r.shared_bytes)),
                          human_bytes(static_cast<double>(r.local_bytes)), fmt::format("{}", r.blocks),
                          fmt::format("{:.0f} %", 100 * r.occupancy)});
  }
  return table.text(2);
}

std::string list_text() {
  return fmt::format(
      "stencil kernels (solver.kernel)\n{}\nreductions (solver.reduction)\n{}\nhistograms "
      "(solver.histogram)\n{}\n{}\ntransports\n{}\ndevices\n{}",
      stencil_table().text(2), row_table(reduction_kernels<double>()).text(2),
      row_table(histogram_kernels<double>()).text(2), resources_text(), transport_table().text(2),
      device_text());
}

}  // namespace isotherm
