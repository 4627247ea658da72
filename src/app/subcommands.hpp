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

// `isotherm list`: the kernels of all registries, the device resources that they use, transports, devices.
std::string list_text();

// The same for scripts, without the device resources. Later versions only add keys.
std::string list_json();

// `why_no_gpu`: why no device can run the CUDA kernels of this build; empty: a CUDA device is the current
// one, and each kernel is queried whether this device can run it.
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

// `isotherm check`: prints on rank 0 the plan and the needs of a run. Collective. Throws the errors that a
// run throws before its work. Without a launcher it also plans for GPUs that this host does not have.
int check(const CommandLine& command, const Communicator& world);

// Whether the command names a deck with `study:` or `scaling:`; false too for a pipe, and for a
// file that is no deck.
bool has_study(const CommandLine& command);

// `isotherm check DECK --json`: answers requests of a program (isotherm study), JSON on stdin, by JSON on
// stdout (docs/reference/requests.md). One process, without MPI. Throws Error(deck) for other input.
int check_json(const CommandLine& command);

// `isotherm info FILE`: prints to stdout, returns 0. Recomputes the fingerprint from the cells and, after
// printing, throws Error(deck) if it differs from that in the file. Throws like read_snapshot_header().
int print_info(const CommandLine& command);

}  // namespace isotherm
