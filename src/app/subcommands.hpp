// Subcommands that solve nothing: list, check and info, a source file each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "core/communicator.hpp"
#include "kernels/reduction.hpp"
#include "kernels/stencil.hpp"

namespace isotherm {

// `isotherm list`: the kernels of all tables, what they take of a device, transports, devices.
std::string list_text();

// The same for scripts, without what kernels take of a device. Keys are only added.
std::string list_json();

// `why_no_gpu`: why CUDA kernels that were built run nowhere; empty where a CUDA device is the current one,
// which the kernels are then asked about.
std::string stencil_table(std::span<const StencilKernel<double>> registry, const std::string& why_no_gpu);
// The tiles in each precision of the kernels in this build; both tables hold the same kernels.
std::string tile_table(std::span<const StencilKernel<float>> fp32,
                       std::span<const StencilKernel<double>> fp64);

// A CUDA kernel in one precision, launched by its first tile.
struct ResourceLine {
  std::string name, precision, tile;
  KernelResources resources;
};
std::string resource_table(const std::vector<ResourceLine>& lines);

// `isotherm check`: what a run would be and need. Collective; prints on rank 0. Throws what a run would throw
// before work; without a launcher it plans for GPUs that are not here too.
int check(const CommandLine& command, const Communicator& world);

// Whether the command names a deck with `study:` or `scaling:`; false too for what is no deck.
bool names_study(const CommandLine& command);

// `isotherm check DECK --json`: answers requests of a program (isotherm study), JSON on stdin, by JSON on
// stdout (docs/reference/requests.md). One process, without MPI. Throws Error(deck) for other input.
int check_json(const CommandLine& command);

// `isotherm info FILE`: prints to stdout, returns 0. Recomputes the fingerprint from the cells, and throws
// Error(deck) behind the print where it is not the file's own. Throws as read_snapshot_header.
int print_info(const CommandLine& command);

}  // namespace isotherm
