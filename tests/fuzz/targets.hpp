// What the fuzz targets share: a file for what libraries read by its path, and what a deck must do.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "config/deck.hpp"
#include "core/error.hpp"

namespace isotherm::fuzz {

// A file of its own, gone with the process.
class ScratchFile {
 public:
  ScratchFile() {
    char pattern[] = "/tmp/isotherm-fuzz-XXXXXX";
    file_ = mkstemp(pattern);
    path_ = pattern;
    if (file_ < 0) std::abort();
  }
  ~ScratchFile() {
    close(file_);
    unlink(path_.c_str());
  }
  const std::string& holding(const unsigned char* data, std::size_t size) const {
    if (ftruncate(file_, 0) != 0 || pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
    return path_;
  }

 private:
  int file_;
  std::string path_;
};

// The words that it may name: some of each kind, so that no row need be linked.
inline const RegistryNames& registry_names() {
  static const RegistryNames registry{
      .kernels = {{"reference", true, false}, {"naive", false, true}},
      .reductions = {{"reference", true, false}, {"fused", true, false}},
      .histograms = {{"reference", true, false}},
      .transports = {{"host", true}, {"mock", false}},
  };
  return registry;
}

// It is rejected by an Error, or its resolved form reads back to itself.
inline void expect_refusal_or_round_trip(const std::string& deck, const std::vector<std::string>& overrides) {
  std::string resolved;
  try {
    resolved = to_yaml(parse_deck(deck, "fuzz.yaml", overrides, registry_names()));
  } catch (const Error&) {
    return;
  }
  const std::string again = to_yaml(parse_deck(resolved, "fuzz.yaml", {}, registry_names()));
  if (again == resolved) return;
  std::cerr << "the resolved deck reads back to another one:\n" << resolved << "\n---\n" << again;
  std::abort();
}

}  // namespace isotherm::fuzz
