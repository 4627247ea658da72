// Which of the host kernels' instruction sets this process uses.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/enum_words.hpp"

namespace isotherm {

// The host kernels are compiled once for each set, or only for the best set of the building processor (-D
// ISOTHERM_HOST_KERNELS=NATIVE); v3 and v4 are the levels of the x86-64 psABI (AVX2 with FMA, AVX-512). All
// sets give the same bits. Other architectures have only the baseline.
enum class InstructionSet { baseline, v3, v4 };
ISOTHERM_WORDS(InstructionSet, "baseline", "v3", "v4");

bool can_use(InstructionSet set);  // this build has it, and this processor can run it

// The set named `wanted`, or, if `wanted` is null or empty, the best set that can be used. Throws
// Error(unavailable) if the name is unknown, if its set cannot be used, or if no set can.
InstructionSet choose_instruction_set(const char* wanted);

// The set that the host kernels use: chosen once, by the environment variable ISOTHERM_ISA.
InstructionSet instruction_set();

// Its name in reports: "x86-64-v4 (AVX-512)".
std::string_view host_instruction_set();

// The last-level cache of one core, from sysfs (sysconf() has been seen to return the sum over a socket);
// 32 MiB where the system does not report it.
std::size_t last_level_cache_bytes();
// How many of the `threads` threads of a process, spread evenly, share this cache; at least 1. The second is
// for a cache of the processors `shared` ("0-7,64-71"; empty: not known), and threads on those in `mask`.
int sharers_of_last_level_cache(int threads);
int sharers_of_cache(std::string_view shared, const std::vector<int>& mask, int threads);
// The second-level cache of one core, at least 512 KiB; 512 KiB where the system does not report it.
std::size_t second_level_cache_bytes();

}  // namespace isotherm
