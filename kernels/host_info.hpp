// Which of the host kernels' instruction sets this process uses.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace isotherm {

// The host kernels are compiled once for each, or for the best of one processor (-D
// ISOTHERM_HOST_KERNELS=NATIVE); v3 and v4 are the levels of the x86-64 psABI (AVX2 with FMA, AVX-512). All
// give the same bits. Other processors have the baseline alone.
enum class InstructionSet { baseline, v3, v4 };

std::string_view name(InstructionSet set);  // "baseline", "v3", "v4"
bool can_use(InstructionSet set);           // this build has it, and this processor can run it

// The set of that name, or without one (null or empty) the best that can be used. Throws Error(unavailable)
// when the name is unknown or its set cannot be used, or none can.
InstructionSet choose_instruction_set(const char* wish);

// What the host kernels use: the choice for the environment variable ISOTHERM_ISA, made once.
InstructionSet instruction_set();

// For people: "x86-64-v4 (AVX-512)".
std::string_view host_instruction_set();

// The last-level cache of one core, from sysfs (sysconf() has been seen to return the sum over a socket);
// 32 MiB where the system does not report it.
std::size_t last_level_cache_bytes();
// How many threads share it, at least 1, if a process has so many and spreads them evenly. The second is for
// a cache of the processors `shared` ("0-7,64-71"; empty: not known) and a process that may run on `mask`.
int sharers_of_last_level_cache(int threads);
int sharers_of_cache(std::string_view shared, const std::vector<int>& mask, int threads);
// The second-level cache of one core, at least 512 KiB; 512 KiB where the system does not report it.
std::size_t second_level_cache_bytes();

}  // namespace isotherm
