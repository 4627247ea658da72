// `study:` and `scaling:` of a deck: which keys take which values in its cases. A run has neither: its Config
// is of one case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/yaml_tree.hpp"

namespace isotherm {

struct SlurmConfig {
  std::string script_template;         // a file; empty: the program's own, inputs/study.sbatch
  std::vector<std::string> options{};  // of sbatch: "--partition=gpu"
};

enum class ScalingKind { strong, weak };
template <>
inline constexpr auto words_of<ScalingKind> = words("strong", "weak");
// The counts of ranks on which every other case of the study is run.
struct ScalingConfig {
  ScalingKind kind = ScalingKind::strong;
  std::vector<std::int64_t> ranks{}, gpus{};  // one of them; gpus: as many ranks, with a GPU each
  int repeats = 1;

  const std::vector<std::int64_t>& counts() const { return gpus.empty() ? ranks : gpus; }
  bool is_given() const { return !counts().empty(); }
};

struct StudyConfig {
  // As they stand in the deck; what they mean is the business of isotherm study, in postprocess.
  YamlNode matrix;   // {key.path: [values]}, every value with every other
  YamlNode zip;      // {key.path: [values]}, the first values together, then the second, ...
  YamlNode list;     // [{name: word, key.path: value}]
  YamlNode exclude;  // [{key.path: value}]
  std::string name;  // pattern; empty: all that varies
  std::optional<int> limit;
  std::optional<int> ranks;  // of a case
  std::string launcher;      // of cases on more ranks than one
  std::optional<int> ranks_per_node;
  SlurmConfig slurm;
  ScalingConfig scaling;              // a section beside study
  std::vector<std::string> report{};  // columns
  std::string sort;                   // a column

  static constexpr int default_limit = 200;
  static constexpr const char* default_launcher = "mpirun -n {ranks}";
  bool is_given() const {
    const auto stands = [](const YamlNode& node) { return node.kind != YamlNode::Kind::null; };
    return stands(matrix) || stands(zip) || stands(list) || scaling.is_given();
  }
};

}  // namespace isotherm
