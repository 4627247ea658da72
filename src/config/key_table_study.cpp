#include "config/key_makers.hpp"

// Laid out by hand: a key is a row.
// clang-format off
namespace isotherm {
namespace {

using key_makers::choice;

}  // namespace

Keys describe(SlurmConfig& slurm) {
  return {
      {.name = "template", .target = &slurm.script_template,
       .doc = "File with the job script: a copy of inputs/study.sbatch, edited for this cluster.",
       .example = "study.sbatch", .absent = "inputs/study.sbatch as it is"},
      {.name = "options", .target = &slurm.options,
       .doc = "Options of sbatch: each becomes a line #SBATCH of the job scripts.",
       .example = "[--partition=gpu, \"--time=01:00:00\"]", .absent = "none"},
  };
}

Keys describe(ScalingConfig& scaling) {
  return {
      {.name = "kind", .target = choice(scaling.kind),
       .doc = "strong: the same grid on all counts; weak: the cells of grid for every rank, so that the body grows.",
       .need = Need::required, .example = "strong"},
      {.name = "ranks", .target = &scaling.ranks, .doc = "Counts of MPI ranks. The smallest is what others are compared with.",
       .range = {1, 1e6}, .need = Need::one_of_two, .example = "[1, 2, 4, 8]", .partner = "gpus"},
      {.name = "gpus", .target = &scaling.gpus, .doc = "Instead of ranks: counts of GPUs, with a rank each and no rank on a CPU.",
       .range = {1, 1e6}, .need = Need::one_of_two, .example = "[1, 2, 4, 8]", .partner = "ranks"},
      {.name = "repeats", .target = &scaling.repeats, .doc = "Runs on each count, of which the one with the median time counts.",
       .range = {1, 1000}},
  };
}

Keys describe(StudyConfig& study) {
  return {
      {.name = "matrix", .target = Written{&study.matrix, Written::Form::lists_by_key},
       .doc = "Keys of the deck by their paths, each with a list of values: every value of one with every value of the others.",
       .example = "{grid.cells: [32, 64], solver.kernel: [reference, openmp]}", .absent = "none"},
      {.name = "zip", .target = Written{&study.zip, Written::Form::lists_by_key},
       .doc = "Keys with lists of equal length: their first values together, then their second ones, and so on.",
       .example = "{grid.cells: [32, 64], problem.steps: [100, 400]}", .absent = "none"},
      {.name = "list", .target = Written{&study.list, Written::Form::maps},
       .doc = "Cases one by one: a name, and keys with one value each. Where matrix and zip stand beside it, each with each.",
       .example = "[{name: thin, grid.lengths: [1, 1, 0.1]}, {name: thick}]", .absent = "none"},
      {.name = "exclude", .target = Written{&study.exclude, Written::Form::maps},
       .doc = "Cases to leave out: those that have all values of an entry.",
       .example = "[{grid.cells: 64, solver.kernel: reference}]", .absent = "none"},
      {.name = "name", .target = &study.name,
       .doc = "Names of the cases, and of their folders: text with varied keys, name (of the list) and ranks in braces.",
       .example = "\"{solver.kernel}_{grid.cells}\"", .absent = "all that varies"},
      {.name = "limit", .target = &study.limit, .doc = "More cases than this are refused.", .range = {1, 1e5},
       .example = "500", .absent = "200"},
      {.name = "ranks", .target = &study.ranks,
       .doc = "MPI ranks of a case; may stand among the keys of matrix, zip and list too.", .range = {1, 1e6}, .example = "4",
       .absent = "1"},
      {.name = "launcher", .target = &study.launcher,
       .doc = "What starts a case on more ranks than one (where it is given, with scaling on one too): words, with {ranks} among them, and {nodes} by ranks_per_node.",
       .example = "\"srun -n {ranks} --exact\"", .absent = "mpirun -n {ranks}"},
      {.name = "ranks_per_node", .target = &study.ranks_per_node, .doc = "With which {nodes} of launcher is reckoned.",
       .range = {1, 1e6}, .example = "8", .absent = "all ranks on this host"},
      {.name = "slurm", .target = Section{describe(study.slurm), {}},
       .doc = "What isotherm study --slurm submits: an array of jobs a rank count, a task a case."},
      {.name = "report", .target = &study.report,
       .doc = "Columns of the table that is printed at the end: those of study.csv, varied keys, or paths within run.json.",
       .example = "[solver.kernel, step_s, method.kernel]", .absent = "what varies, state, step_s, residual_K, max_K"},
      {.name = "sort", .target = &study.sort, .doc = "The column by which that table is sorted, ascending.",
       .example = "step_s", .absent = "the order of the cases"},
  };
}

Keys describe(Config& config, StudyConfig& study) {
  Keys keys = describe(config);
  keys.push_back({.name = "study", .target = Section{describe(study), {}},
                  .doc = "Several cases of this deck, for isotherm study."});
  keys.push_back({.name = "scaling", .target = Section{describe(study.scaling), {}, true},
                  .doc = "This deck, and each case of its study, on several counts of ranks, for isotherm study."});
  return keys;
}

}  // namespace isotherm
// clang-format on
