#include "app/subcommands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/device.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "halo/transport.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"
#include "output/records/json_value.hpp"

namespace isotherm {
namespace {

// The first CUDA device, made current; else why there is none.
struct Gpu {
  std::unique_ptr<Device> device;
  std::string why_none;
};
Gpu first_gpu() {
  const CudaDevices found = find_cuda_devices();
  if (found.devices.empty()) return {nullptr, found.why_none};
  try {
    return {make_cuda_device(found.devices.front().index), ""};
  } catch (const Error& error) {
    return {nullptr, error.what()};
  }
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

// Stencil kernels have a time block too.
template <class Registry>
TextTable kernel_table(const Registry& registry, const std::string& why_no_gpu) {
  constexpr bool has_time_block = requires {
    registry.front().max_time_block;
  };
  TextTable table{has_time_block ? "llllll" : "lllll", {{"name", "backend", "purpose"}}};
  if (has_time_block) table.rows[0].push_back("time block");
  table.rows[0].insert(table.rows[0].end(), {"available", "description"});
  for (const auto& kernel : registry) {
    auto& cells = table.rows.emplace_back(std::vector<std::string>{
        std::string(kernel.name), std::string(word(kernel.backend)), std::string(word(kernel.purpose))});
    if constexpr (has_time_block)
      cells.push_back(!kernel.available()         ? "-"  // not known
                      : kernel.max_time_block > 1 ? fmt::format("1-{}", kernel.max_time_block)
                                                  : "1");
    cells.insert(cells.end(), {availability(kernel, why_no_gpu), std::string(kernel.description)});
  }
  return table;
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
std::string resources_text(const Gpu& gpu) {
  constexpr const char* title = "resources of the CUDA kernels";
  if (!gpu.device) return fmt::format("{}\n  not known here: {}\n", title, gpu.why_none);
  try {
    std::vector<ResourceLine> lines;
    add_resources<float>(lines);
    add_resources<double>(lines);
    return fmt::format("{} of {}\n{}", title, gpu.device->info().name, resource_table(lines));
  } catch (const Error& error) {
    return fmt::format("{}\n  not known here: {}\n", title, error.what());
  }
}

TextTable transport_table(const Gpu& gpu) {
  const std::unique_ptr<Device> host = make_host_device();
  TextTable table{"lll", {{"name", "available", "description"}}};
  for (const TransportEntry<double>& entry : transport_registry<double>()) {
    const std::string why = entry.unsupported(gpu.device ? *gpu.device : *host);
    table.rows.push_back(
        {std::string(entry.name), why.empty() ? "yes" : "no: " + why, std::string(entry.description)});
  }
  return table;
}

std::string device_text() {
  TextTable table{"llll", {{"device", "name", "memory", "description"}}};
  const auto host = make_host_device();
  const DeviceInfo processor = host->info();
  table.rows.push_back({"cpu", processor.name, human_bytes(host->memory().total_bytes), processor.detail});
  const CudaDevices cuda = find_cuda_devices();
  for (const DeviceInfo& gpu : cuda.devices)
    table.rows.push_back({fmt::format("cuda {}", gpu.index), gpu.name, "", gpu.detail});
  std::string text = table.text(2);
  if (cuda.devices.empty()) text += fmt::format("  no CUDA device: {}\n", cuda.why_none);
  return text;
}

// `available`: as the tables have it, "yes" or why not.
Json entry(std::string_view name, const std::string& available, std::string_view description) {
  const std::string_view why = std::string_view(available).substr(available.starts_with("no: ") ? 4 : 0);
  Json json = {{"name", name}, {"available", available == "yes"}};
  json["why_not"] = available == "yes" ? Json() : Json(why);
  json["description"] = description;
  return json;
}

template <class Registry>
Json registry_json(const Registry& registry, const std::string& why_no_gpu) {
  Json all = Json::array();
  for (const auto& kernel : registry) {
    Json& json = all.emplace_back(entry(kernel.name, availability(kernel, why_no_gpu), kernel.description));
    json["backend"] = word(kernel.backend);
    json["purpose"] = word(kernel.purpose);
    if constexpr (requires { kernel.is_candidate; }) json["automatic"] = kernel.is_candidate;
  }
  return all;
}

// None where a kernel cuts its work in one way only: that has no name.
Json words_json(std::span<const std::string_view> tiles) {
  Json all = Json::array();
  for (const std::string_view tile : tiles)
    if (tile != "-") all.push_back(tile);
  return all;
}

Json kernels_json(const std::string& why_no_gpu) {
  const auto fp32 = stencil_kernels<float>();
  const auto fp64 = stencil_kernels<double>();
  Json all = registry_json(fp64, why_no_gpu);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]["max_time_block"] = fp64[i].max_time_block;
    all[i]["tiles"] = {{"fp32", words_json(fp32[i].tiles)}, {"fp64", words_json(fp64[i].tiles)}};
  }
  return all;
}

Json transports_json(const Gpu& gpu) {
  Json all = Json::array();
  const TextTable table = transport_table(gpu);
  for (std::size_t i = 1; i < table.rows.size(); ++i)  // behind the heads
    all.push_back(entry(table.rows[i][0], table.rows[i][1], table.rows[i][2]));
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
  const Gpu gpu = first_gpu();
  const CudaDevices cuda = find_cuda_devices();
  Json devices = Json::array();
  devices.push_back(device_json(make_host_device()->info()));
  for (const DeviceInfo& info : cuda.devices) devices.push_back(device_json(info));
  const Json json = {{"schema", "isotherm-list"},
                     {"schema_version", 1},
                     {"version", build_info().version},
                     {"kernels", kernels_json(gpu.why_none)},
                     {"reductions", registry_json(reduction_kernels<double>(), gpu.why_none)},
                     {"histograms", registry_json(histogram_kernels<double>(), gpu.why_none)},
                     {"transports", transports_json(gpu)},
                     {"devices", devices},
                     {"why_no_gpu", gpu.why_none.empty() ? Json() : Json(gpu.why_none)}};
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
  return kernel_table(registry, why_no_gpu).text(2);
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
  const Gpu gpu = first_gpu();
  return fmt::format(
      "stencil kernels (solver.kernel)\n{}\ntheir tiles (solver.tile), the default first\n{}\nreductions "
      "(solver.reduction)\n{}\nhistograms (solver.histogram)\n{}\n{}\ntransports "
      "(parallel.transport)\n{}\ndevices\n{}",
      stencil_table(stencil_kernels<double>(), gpu.why_none),
      tile_table(stencil_kernels<float>(), stencil_kernels<double>()),
      kernel_table(reduction_kernels<double>(), gpu.why_none).text(2),
      kernel_table(histogram_kernels<double>(), gpu.why_none).text(2), resources_text(gpu),
      transport_table(gpu).text(2), device_text());
}

}  // namespace isotherm
