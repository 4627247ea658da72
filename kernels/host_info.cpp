#include "kernels/host_info.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/error.hpp"

namespace isotherm {
namespace {

constexpr std::array all_sets = {InstructionSet::v4, InstructionSet::v3, InstructionSet::baseline};

InstructionSet best() {
  for (InstructionSet set : all_sets) {
    if (cpu_has(set)) return set;
  }
  return InstructionSet::baseline;
}

// Of core 0, by sysfs; 0 where the system does not say.
std::size_t cache_bytes(const std::string& index) {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/" + index + "/size");
  std::size_t kilobytes = 0;
  char unit = 0;
  return file >> kilobytes >> unit && unit == 'K' ? kilobytes << 10 : 0;
}

}  // namespace

std::string_view name(InstructionSet set) {
  switch (set) {
    case InstructionSet::v4:
      return "v4";
    case InstructionSet::v3:
      return "v3";
    case InstructionSet::baseline:
      break;
  }
  return "baseline";
}

// Exactly the features that CMakeLists.txt compiles each variant with.
bool cpu_has(InstructionSet set) {
  if (set == InstructionSet::baseline) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (set == InstructionSet::v3) return v3;
  return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

InstructionSet choose_instruction_set(const char* wish) {
  if (!wish || !*wish) return best();
  for (InstructionSet set : all_sets) {
    if (name(set) != wish) continue;
    if (cpu_has(set)) return set;
    throw Error(ExitCode::unavailable, "ISOTHERM_ISA=" + std::string(wish) +
                                           " cannot be used (this processor lacks it); the best here is " +
                                           std::string(name(best())));
  }
  throw Error(ExitCode::unavailable, "ISOTHERM_ISA=" + std::string(wish) +
                                         " is not known (it names no instruction set of the host rows); use "
                                         "baseline, v3 or v4, or unset it");
}

InstructionSet instruction_set() {
  static const InstructionSet chosen = choose_instruction_set(std::getenv("ISOTHERM_ISA"));
  return chosen;
}

std::string_view host_instruction_set() {
  switch (instruction_set()) {
    case InstructionSet::v4:
      return "x86-64-v4 (AVX-512)";
    case InstructionSet::v3:
      return "x86-64-v3 (AVX2, FMA)";
    case InstructionSet::baseline:
      break;
  }
  return "baseline";
}

std::size_t last_level_cache_bytes() {
  static const std::size_t bytes = [] {
    for (const char* level : {"index3", "index2"}) {
      if (const std::size_t found = cache_bytes(level)) return found;
    }
    return std::size_t{32} << 20;
  }();
  return bytes;
}

std::size_t second_level_cache_bytes() {
  static const std::size_t bytes = std::max(cache_bytes("index2"), std::size_t{512} << 10);
  return bytes;
}

}  // namespace isotherm
