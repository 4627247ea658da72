#include "kernels/host_info.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "core/host_threads.hpp"
#include "kernels/host/host_kernels.hpp"

namespace isotherm {
namespace {

constexpr std::array all_sets = {InstructionSet::v4, InstructionSet::v3, InstructionSet::baseline};

InstructionSet best() {
  for (InstructionSet set : all_sets) {
    if (can_use(set)) return set;
  }
  throw Error(
      ExitCode::unavailable,
      "no instruction set (this program was built for the processor of another machine alone); build it "
      "on this one, or with -D ISOTHERM_HOST_KERNELS=ALL");
}

// Exactly the features for which CMakeLists.txt compiles each variant.
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

std::ifstream cache_file(int core, const std::string& index, const char* name) {
  return std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/" + index + "/" + name);
}

// The size of a cache of core 0, from sysfs; 0 where the system does not report it.
std::size_t cache_bytes(const std::string& index) {
  std::ifstream file = cache_file(0, index, "size");
  std::size_t kilobytes = 0;
  char unit = 0;
  return file >> kilobytes >> unit && unit == 'K' ? kilobytes << 10 : 0;
}

// The number of processors in a list: 5 in "0-3,8".
int count_processors(std::string_view list) {
  int count = 0;
  const char *at = list.data(), *const end = at + list.size();
  while (at < end) {
    int first = 0, last = 0;
    auto [next, error] = std::from_chars(at, end, first);
    if (error != std::errc{}) break;
    last = first;
    if (next < end && *next == '-') next = std::from_chars(next + 1, end, last).ptr;
    count += last - first + 1;
    at = next + 1;
  }
  return count;
}

}  // namespace

bool can_use(InstructionSet set) { return host::BuiltTags::have(set) && cpu_has(set); }

InstructionSet choose_instruction_set(const char* wanted) {
  if (!wanted || !*wanted) return best();
  const std::optional<InstructionSet> set = from_word<InstructionSet>(wanted);
  if (!set)
    throw Error(ExitCode::unavailable,
                "ISOTHERM_ISA=" + std::string(wanted) +
                    " is not known (it names no instruction set of the host kernels); use "
                    "baseline, v3 or v4, or unset it");
  if (can_use(*set)) return *set;
  throw Error(ExitCode::unavailable, "ISOTHERM_ISA=" + std::string(wanted) + " cannot be used (this " +
                                         (cpu_has(*set) ? "program was built without" : "processor lacks") +
                                         " it); the best here is " + std::string(word(best())));
}

InstructionSet instruction_set() {
  static const InstructionSet chosen = choose_instruction_set(std::getenv("ISOTHERM_ISA"));
  return chosen;
}

std::string_view host_instruction_set() {
  constexpr std::string_view names[] = {"baseline", "x86-64-v3 (AVX2, FMA)", "x86-64-v4 (AVX-512)"};
  return names[static_cast<int>(instruction_set())];
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

int sharers_of_cache(std::string_view shared, const std::vector<int>& mask, int threads) {
  const double of_one = std::min(1.0, threads / std::max(1.0, static_cast<double>(mask.size())));
  return std::max(1, static_cast<int>(std::ceil(of_one * count_processors(shared) - 1e-9)));
}

int sharers_of_last_level_cache(int threads) {
  static const std::vector<int> mask = find_host_cores().mask;
  static const std::string shared = [] {
    std::string list;
    for (const char* level : {"index3", "index2"}) {
      std::ifstream file = cache_file(mask.empty() ? 0 : mask.front(), level, "shared_cpu_list");
      if (std::getline(file, list)) break;
    }
    return list;
  }();
  return sharers_of_cache(shared, mask, threads);
}

std::size_t second_level_cache_bytes() {
  static const std::size_t bytes = std::max(cache_bytes("index2"), std::size_t{512} << 10);
  return bytes;
}

}  // namespace isotherm
