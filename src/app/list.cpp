#include "app/subcommands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/device.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "halo/transport.hpp"
#include "kernels/histogram.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {
namespace {

// The CUDA devices, the first made current; else why there is none.
struct Gpus : CudaDevices {
  std::unique_ptr<Device> first;
};
Gpus find_gpus() {
  Gpus gpus{find_cuda_devices(), nullptr};
  try {
    if (!gpus.devices.empty()) gpus.first = make_cuda_device(gpus.devices.front().index);
  } catch (const Error& error) {
    gpus.why_none = error.what();
  }
  return gpus;
}

// The tables of both precisions hold the same kernels.
template <class Entry>
std::string availability(const Entry& entry, const std::string& why_no_gpu) {
  if (!entry.available()) return "not in this build";
  if (entry.backend == Backend::host) return "yes";
  if (!why_no_gpu.empty()) return "no CUDA device";
  if constexpr (requires { entry.unsupported; }) {
    if (const std::string why = entry.why_unsupported(0); !why.empty()) return "no: " + why;
  }
  return "yes";
}

// A row of a table, and of the JSON. `available`: "yes" or why not, until parted() separates the two.
Json row_of(std::string_view name, const std::string& available, std::string_view description) {
  return {{"name", name}, {"available", available}, {"why_not", nullptr}, {"description", description}};
}

template <class Registry>
Json rows_of(const Registry& registry, const std::string& why_no_gpu) {
  Json rows = Json::array();
  for (const auto& kernel : registry) {
    Json& row = rows.emplace_back(row_of(kernel.name, availability(kernel, why_no_gpu), kernel.description));
    row["backend"] = word(kernel.backend);
    row["purpose"] = word(kernel.purpose);
    if constexpr (requires { kernel.is_candidate; }) row["automatic"] = kernel.is_candidate;
    if constexpr (requires { kernel.max_time_block; }) {
      row["max_time_block"] = kernel.max_time_block;
      row["time block"] = !kernel.available()         ? "-"  // not known
                          : kernel.max_time_block > 1 ? fmt::format("1-{}", kernel.max_time_block)
                                                      : "1";
    }
  }
  return rows;
}

std::string table_of(const Json& rows, const std::vector<std::string>& keys) {
  TextTable table{std::string(keys.size(), 'l'), {keys}};
  for (const Json& row : rows) {
    auto& cells = table.rows.emplace_back();
    for (const std::string& key : keys) cells.push_back(row.at(key));
  }
  return table.text(2);
}

template <class T>
void add_resources(std::vector<ResourceLine>& lines) {
  const char* precision = sizeof(T) == 4 ? "fp32" : "fp64";
  for (const auto& kernel : stencil_kernels<T>()) {
    if (kernel.resources && kernel.why_unsupported(0).empty())
      lines.push_back(
          {std::string(kernel.name), precision, std::string(kernel.tiles[0]), kernel.resources(0)});
  }
  const auto add = [&](const auto& registry) {
    for (const auto& kernel : registry)
      if (kernel.resources) lines.push_back({std::string(kernel.name), precision, "-", kernel.resources()});
  };
  add(reduction_kernels<T>());
  add(histogram_kernels<T>());
}

// Needs a context on the device: the driver may still have to compile the kernels for it.
std::string resources_text(const Gpus& gpus) {
  constexpr const char* title = "resources of the CUDA kernels";
  if (!gpus.first) return fmt::format("{}\n  not known here: {}\n", title, gpus.why_none);
  try {
    std::vector<ResourceLine> lines;
    add_resources<float>(lines);
    add_resources<double>(lines);
    return fmt::format("{} of {}\n{}", title, gpus.first->info().name, resource_table(lines));
  } catch (const Error& error) {
    return fmt::format("{}\n  not known here: {}\n", title, error.what());
  }
}

Json transport_rows(const Gpus& gpus) {
  const std::unique_ptr<Device> host = make_host_device();
  Json rows = Json::array();
  for (const TransportEntry<double>& entry : transport_registry<double>()) {
    const std::string why = entry.unsupported(gpus.first ? *gpus.first : *host);
    rows.push_back(row_of(entry.name, why.empty() ? "yes" : "no: " + why, entry.description));
  }
  return rows;
}

std::string device_text(const CudaDevices& cuda) {
  TextTable table{"llll", {{"device", "name", "memory", "description"}}};
  const auto host = make_host_device();
  const DeviceInfo processor = host->info();
  table.rows.push_back({"cpu", processor.name, human_bytes(host->memory().total_bytes), processor.detail});
  for (const DeviceInfo& gpu : cuda.devices)
    table.rows.push_back({fmt::format("cuda {}", gpu.index), gpu.name, "", gpu.detail});
  std::string text = table.text(2);
  if (cuda.devices.empty()) text += fmt::format("  no CUDA device: {}\n", cuda.why_none);
  return text;
}

Json parted(Json rows) {
  for (Json& row : rows) {
    const std::string available = row["available"];
    row["available"] = available == "yes";
    if (available != "yes") row["why_not"] = available.substr(available.starts_with("no: ") ? 4 : 0);
    row.erase("time block");
  }
  return rows;
}

// Empty if a kernel has a single tile, which has no name.
Json words_json(std::span<const std::string_view> tiles) {
  Json all = Json::array();
  for (const std::string_view tile : tiles)
    if (tile != "-") all.push_back(tile);
  return all;
}

Json kernels_json(const std::string& why_no_gpu) {
  const auto fp32 = stencil_kernels<float>();
  const auto fp64 = stencil_kernels<double>();
  Json all = parted(rows_of(fp64, why_no_gpu));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i]["tiles"] = {{"fp32", words_json(fp32[i].tiles)}, {"fp64", words_json(fp64[i].tiles)}};
  return all;
}

Json device_json(const DeviceInfo& info) {
  const bool on_host = info.backend == Backend::host;
  return {{"backend", word(info.backend)},
          {"index", on_host ? Json() : Json(info.index)},
          {"name", info.name},
          {"uuid", on_host ? Json() : Json(info.uuid)},
          {"description", info.detail}};
}

}  // namespace

std::string list_json() {
  const Gpus gpus = find_gpus();
  Json devices = Json::array();
  devices.push_back(device_json(make_host_device()->info()));
  for (const DeviceInfo& info : gpus.devices) devices.push_back(device_json(info));
  const Json json = {{"schema", "isotherm-list"},
                     {"schema_version", 1},
                     {"version", build_info().version},
                     {"kernels", kernels_json(gpus.why_none)},
                     {"reductions", parted(rows_of(reduction_kernels<double>(), gpus.why_none))},
                     {"histograms", parted(rows_of(histogram_kernels<double>(), gpus.why_none))},
                     {"transports", parted(transport_rows(gpus))},
                     {"devices", devices},
                     {"why_no_gpu", gpus.why_none.empty() ? Json() : Json(gpus.why_none)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string resource_table(const std::vector<ResourceLine>& lines) {
  TextTable table{
      "lllrrrrrr",
      {{"kernel", "precision", "tile", "threads", "registers", "shared", "spilled", "blocks", "occupancy"}}};
  for (const ResourceLine& line : lines) {
    const KernelResources& r = line.resources;
    table.rows.push_back({line.name, line.precision, line.tile, std::to_string(r.threads),
                          std::to_string(r.registers), human_bytes(r.shared_bytes),
                          human_bytes(r.local_bytes), std::to_string(r.blocks),
                          fmt::format("{:.0f} %", 100 * r.occupancy)});
  }
  return table.text(2);
}

std::string stencil_table(std::span<const StencilKernel<double>> registry, const std::string& why_no_gpu) {
  return table_of(rows_of(registry, why_no_gpu),
                  {"name", "backend", "purpose", "time block", "available", "description"});
}

std::string tile_table(std::span<const StencilKernel<float>> fp32,
                       std::span<const StencilKernel<double>> fp64) {
  TextTable table{"lll", {{"name", "in fp32", "in fp64"}}};
  for (std::size_t i = 0; i < fp64.size(); ++i) {
    if (!fp64[i].available()) continue;
    table.rows.push_back({std::string(fp64[i].name), fmt::format("{}", fmt::join(fp32[i].tiles, ", ")),
                          fmt::format("{}", fmt::join(fp64[i].tiles, ", "))});
  }
  return table.text(2);
}

std::string list_text() {
  const Gpus gpus = find_gpus();
  const std::vector<std::string> plain{"name", "backend", "purpose", "available", "description"};
  return fmt::format(
      "stencil kernels (solver.kernel)\n{}\ntheir tiles (solver.tile), the default first\n{}\nreductions "
      "(solver.reduction)\n{}\nhistograms (solver.histogram)\n{}\n{}\ntransports "
      "(parallel.transport)\n{}\ndevices\n{}",
      stencil_table(stencil_kernels<double>(), gpus.why_none),
      tile_table(stencil_kernels<float>(), stencil_kernels<double>()),
      table_of(rows_of(reduction_kernels<double>(), gpus.why_none), plain),
      table_of(rows_of(histogram_kernels<double>(), gpus.why_none), plain), resources_text(gpus),
      table_of(transport_rows(gpus), {"name", "available", "description"}), device_text(gpus));
}

}  // namespace isotherm
