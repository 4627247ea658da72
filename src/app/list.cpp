#include "app/subcommands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/build_info.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "halo/transport.hpp"
#include "kernels/histogram.hpp"
#include "kernels/reduction.hpp"

namespace isotherm {
namespace {

using Json = nlohmann::ordered_json;

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

// The tables of both precisions hold the same rows.
template <class Row>
std::string availability(const Row& row, const std::string& why_no_gpu) {
  if (!row.available()) return "not in this build";
  if (row.backend == Backend::host) return "yes";
  if (!why_no_gpu.empty()) return "no CUDA device";
  if constexpr (requires { row.unsupported; }) {
    if (const std::string why = row.why_unsupported(0); !why.empty()) return "no: " + why;
  }
  return "yes";
}

// Stencil kernels have a depth too.
template <class Rows>
TextTable row_table(const Rows& rows, const std::string& why_no_gpu) {
  constexpr bool has_depth = requires {
    rows.front().max_depth;
  };
  TextTable table{has_depth ? "lllll" : "llll", {{"name", "backend"}}};
  if (has_depth) table.rows[0].push_back("depth");
  table.rows[0].insert(table.rows[0].end(), {"available", "remark"});
  for (const auto& row : rows) {
    auto& cells = table.rows.emplace_back(
        std::vector<std::string>{std::string(row.name), std::string(word(row.backend))});
    if constexpr (has_depth) cells.push_back(row.max_depth > 1 ? fmt::format("1-{}", row.max_depth) : "1");
    cells.insert(cells.end(), {availability(row, why_no_gpu), std::string(row.remark)});
  }
  return table;
}

template <class T>
void add_resources(std::vector<ResourceLine>& lines) {
  const char* precision = sizeof(T) == 4 ? "fp32" : "fp64";
  for (const auto& row : stencil_kernels<T>()) {
    if (row.resources && row.why_unsupported(0).empty())
      lines.push_back({std::string(row.name), precision, std::string(row.policies[0]), row.resources(0)});
  }
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows)
      if (row.resources) lines.push_back({std::string(row.name), precision, "-", row.resources()});
  };
  add(reduction_kernels<T>());
  add(histogram_kernels<T>());
}

// Needs a context on the device: the driver may still have to compile the rows for it.
std::string resources_text(const Gpu& gpu) {
  constexpr const char* title = "what the CUDA rows take of a multiprocessor";
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

// On the GPU where there is one.
TextTable transport_table(const Gpu& gpu) {
  const std::unique_ptr<Device> host = make_host_device();
  TextTable table{"lll", {{"name", "available", "remark"}}};
  for (const TransportRow<double>& row : transport_rows<double>()) {
    const std::string why = row.unsupported(gpu.device ? *gpu.device : *host);
    table.rows.push_back(
        {std::string(row.name), why.empty() ? "yes" : "no: " + why, std::string(row.remark)});
  }
  return table;
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

// `available`: as the tables have it, "yes" or why not.
Json entry(std::string_view name, const std::string& available, std::string_view remark) {
  const std::string_view why = std::string_view(available).substr(available.starts_with("no: ") ? 4 : 0);
  Json json = {{"name", name}, {"available", available == "yes"}};
  json["why_not"] = available == "yes" ? Json() : Json(why);
  json["remark"] = remark;
  return json;
}

template <class Rows>
Json rows_json(const Rows& rows, const std::string& why_no_gpu) {
  Json all = Json::array();
  for (const auto& row : rows) {
    Json& json = all.emplace_back(entry(row.name, availability(row, why_no_gpu), row.remark));
    json["backend"] = word(row.backend);
    if constexpr (requires { row.on_trial; }) json["automatic"] = row.on_trial;
  }
  return all;
}

// None where a row cuts its work in one way only: that has no name.
Json words_json(std::span<const std::string_view> policies) {
  Json all = Json::array();
  for (const std::string_view policy : policies)
    if (policy != "-") all.push_back(policy);
  return all;
}

Json kernels_json(const std::string& why_no_gpu) {
  const auto fp32 = stencil_kernels<float>();
  const auto fp64 = stencil_kernels<double>();
  Json all = rows_json(fp64, why_no_gpu);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]["max_depth"] = fp64[i].max_depth;
    all[i]["policies"] = {{"fp32", words_json(fp32[i].policies)}, {"fp64", words_json(fp64[i].policies)}};
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
          {"remark", info.detail}};
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
                     {"reductions", rows_json(reduction_kernels<double>(), gpu.why_none)},
                     {"histograms", rows_json(histogram_kernels<double>(), gpu.why_none)},
                     {"transports", transports_json(gpu)},
                     {"devices", devices},
                     {"why_no_gpu", gpu.why_none.empty() ? Json() : Json(gpu.why_none)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string resource_table(const std::vector<ResourceLine>& lines) {
  TextTable table{
      "lllrrrrrr",
      {{"row", "precision", "policy", "threads", "registers", "shared", "spilled", "blocks", "occupancy"}}};
  for (const ResourceLine& line : lines) {
    const KernelResources& r = line.resources;
    const auto bytes = [](auto count) { return human_bytes(static_cast<double>(count)); };
    table.rows.push_back({line.name, line.precision, line.policy, std::to_string(r.threads),
                          std::to_string(r.registers), bytes(r.shared_bytes), bytes(r.local_bytes),
                          std::to_string(r.blocks), fmt::format("{:.0f} %", 100 * r.occupancy)});
  }
  return table.text(2);
}

std::string stencil_table(std::span<const StencilKernel<double>> rows, const std::string& why_no_gpu) {
  return row_table(rows, why_no_gpu).text(2);
}

std::string policy_table(std::span<const StencilKernel<float>> fp32,
                         std::span<const StencilKernel<double>> fp64) {
  TextTable table{"lll", {{"name", "in fp32", "in fp64"}}};
  for (std::size_t i = 0; i < fp64.size(); ++i) {
    if (!fp64[i].available()) continue;
    table.rows.push_back({std::string(fp64[i].name), fmt::format("{}", fmt::join(fp32[i].policies, ", ")),
                          fmt::format("{}", fmt::join(fp64[i].policies, ", "))});
  }
  return table.text(2);
}

std::string list_text() {
  const Gpu gpu = first_gpu();
  return fmt::format(
      "stencil kernels (solver.kernel)\n{}\ntheir policies (solver.tile), the one to take unasked first\n{}\n"
      "reductions (solver.reduction)\n{}\nhistograms (solver.histogram)\n{}\n{}\ntransports "
      "(parallel.transport)\n{}\n"
      "devices\n{}",
      stencil_table(stencil_kernels<double>(), gpu.why_none),
      policy_table(stencil_kernels<float>(), stencil_kernels<double>()),
      row_table(reduction_kernels<double>(), gpu.why_none).text(2),
      row_table(histogram_kernels<double>(), gpu.why_none).text(2), resources_text(gpu),
      transport_table(gpu).text(2), device_text());
}

}  // namespace isotherm
