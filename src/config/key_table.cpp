#include "config/key_table.hpp"

#include <algorithm>

#include "config/key_makers.hpp"

// Laid out by hand: a key is a row.
// clang-format off
namespace isotherm {
namespace {

using Words = std::string_view;
using key_makers::axes, key_makers::choice, key_makers::counts, key_makers::list_of, key_makers::positions,
    key_makers::times;
constexpr Words off_on[] = {"false", "true"};
constexpr Words auto_true_false[] = {"auto", "true", "false"};
constexpr Words overlaps[] = {"auto", "true", "false", "in_kernel"};

constexpr Range extents{1e-12, 1e12}, kelvins{-1e12, 1e12};
constexpr Range constants{1e-12, 1e12};  // of materials

Keys describe(GridConfig& grid) {
  return {
      {.name = "cells", .target = &grid.cells, .doc = "Cells along x, y and z; one number for a cube.",
       .range = {1, 1e12}, .need = Need::required, .example = "[64, 64, 64]", .one_for_all = true},
      {.name = "lengths", .target = &grid.lengths,
       .doc = "Edges of the box along x, y and z; one number for a cube.",
       .unit = "m", .range = extents, .need = Need::one_of_two, .example = "[1, 1, 1]", .partner = "spacing",
       .one_for_all = true},
      {.name = "spacing", .target = &grid.spacing,
       .doc = "Edges of a cell along x, y and z; one number for cubes.",
       .unit = "m", .range = extents, .need = Need::one_of_two, .example = "0.01", .partner = "lengths",
       .one_for_all = true},
      {.name = "origin", .target = &grid.origin, .doc = "The corner of the box with the least x, y and z.",
       .unit = "m",
       .range = positions},
  };
}

Keys describe(MaterialConfig& material) {
  return {
      {.name = "conductivity", .target = &material.conductivity,
       .doc = "Thermal conductivity k; flux and convection walls and steady sources need it.",
       .unit = "W/(m K)",
       .range = constants, .example = "400"},
      {.name = "density", .target = &material.density, .doc = "Density; together with heat_capacity.",
       .unit = "kg/m^3", .range = constants, .example = "8960"},
      {.name = "heat_capacity", .target = &material.heat_capacity,
       .doc = "Specific heat capacity c; together with density.", .unit = "J/(kg K)", .range = constants,
       .example = "385"},
      {.name = "diffusivity", .target = &material.diffusivity,
       .doc = "Thermal diffusivity alpha = k/(rho c), instead of density and heat_capacity.", .unit = "m^2/s",
       .range = constants, .example = "1.16e-4"},
  };
}

Keys describe(BoundaryConfig& boundary, std::string_view variables) {
  return {
      {.name = "kind", .target = choice(boundary.kind),
       .doc = "What the wall does; insulated and periodic (on both faces of a pair) may stand alone."},
      {.name = "value", .target = &boundary.value,
       .doc = "Temperature (K) or heat flux into the body (W/m^2): a number or a formula of the face and t.",
       .unit = "K or W/m^2", .range = {-1e15, 1e15}, .need = Need::required,
       .when = {"kind", {"temperature", "flux"}}, .example = "300", .variables = variables},
      {.name = "ambient", .target = &boundary.value,
       .doc = "Temperature of the surroundings: a number or a formula of the face and t.", .unit = "K",
       .range = kelvins, .need = Need::required, .when = {"kind", {"convection"}}, .example = "293",
       .variables = variables},
      {.name = "coefficient", .target = &boundary.coefficient, .doc = "Heat transfer coefficient.",
       .unit = "W/(m^2 K)",
       .range = {0, 1e12}, .need = Need::required, .when = {"kind", {"convection"}}, .example = "25"},
  };
}

Keys describe_boundaries(Config& config) {
  static constexpr std::string_view variables[] = {"yzt", "xzt", "xyt"};  // by axis
  Keys keys;
  for (int f = 0; f < face_count; ++f) {
    const auto face = static_cast<std::size_t>(f), axis = face / 2;
    keys.push_back({.name = face_names[f],
                    .target = Section{describe(config.boundaries[face], variables[axis]), "kind"},
                    .doc = "The wall at this face; insulated where nothing is said."});
  }
  return keys;
}

// `initial` holds temperatures, `sources` heat sources; else they are alike.
Keys describe_paint(Paint& paint, std::string_view unit, Range values, std::string_view example) {
  const std::vector<std::string_view> round{"sphere", "cylinder"};
  return {
      {.name = "shape", .target = choice(paint.shape),
       .doc = "What is painted; exact: the solution that verify names.", .need = Need::required,
       .example = "constant"},
      {.name = "mode", .target = choice(paint.mode),
       .doc = "Replace what stands there, or add to it. A gaussian always adds.",
       .when = {"shape", {"constant", "box", "sphere", "cylinder", "formula", "dataset", "exact"}}},
      {.name = "value", .target = &paint.value, .doc = "The value inside; of a gaussian, its peak.",
       .unit = unit,
       .range = values, .need = Need::required,
       .when = {"shape", {"constant", "box", "sphere", "cylinder", "gaussian"}}, .example = example},
      {.name = "from", .target = &paint.from, .doc = "The corner with the least x, y and z.", .unit = "m",
       .range = positions, .need = Need::required, .when = {"shape", {"box"}}, .example = "[0.2, 0.2, 0.2]"},
      {.name = "to", .target = &paint.to, .doc = "The opposite corner.", .unit = "m", .range = positions,
       .need = Need::required, .when = {"shape", {"box"}}, .example = "[0.4, 0.4, 0.4]"},
      {.name = "centre", .target = &paint.centre, .doc = "Its middle.", .unit = "m", .range = positions,
       .need = Need::required, .when = {"shape", {"sphere", "cylinder", "gaussian"}},
       .example = "[0.5, 0.5, 0.5]"},
      {.name = "radius", .target = &paint.radius, .doc = "Its radius.", .unit = "m", .range = extents,
       .need = Need::required, .when = {"shape", round}, .example = "0.1"},
      {.name = "axis", .target = choice(paint.axis, axes), .doc = "The direction it points in.",
       .when = {"shape", {"cylinder"}}},
      {.name = "length", .target = &paint.length,
       .doc = "Its length along the axis, half to each side of the centre.",
       .unit = "m", .range = extents, .need = Need::required, .when = {"shape", {"cylinder"}},
       .example = "0.5"},
      {.name = "width", .target = &paint.width, .doc = "Its standard deviation.", .unit = "m",
       .range = extents,
       .need = Need::required, .when = {"shape", {"gaussian"}}, .example = "0.05"},
      {.name = "formula", .target = &paint.formula, .doc = "A formula of x, y and z.", .unit = unit,
       .range = values,
       .need = Need::required, .when = {"shape", {"formula"}}, .example = "\"300 + 50*sin(pi*x)\"",
       .variables = "xyz"},
      {.name = "file", .target = &paint.file,
       .doc = "An HDF5 file; a relative path starts at the deck's folder.",
       .need = Need::required, .when = {"shape", {"dataset"}}, .example = "start.h5"},
      {.name = "dataset", .target = &paint.dataset,
       .doc = "The path in it of a dataset of shape (nz, ny, nx).",
       .need = Need::required, .when = {"shape", {"dataset"}}, .example = "/temperature"},
  };
}
Keys describe_initial(Paint& paint) {
  return describe_paint(paint, "K", kelvins, "300");
}
Keys describe_source(Paint& paint) {
  Keys keys = describe_paint(paint, "W/m^3", {-1e18, 1e18}, "1e6");
  const auto value = std::ranges::find(keys, std::string_view("value"), &Key::name);
  value->need = Need::one_of_two;
  value->partner = "power";
  const Key power{.name = "power", .target = &paint.power, .doc = "Heat of the whole shape, instead of value.",
                  .unit = "W", .range = {-1e18, 1e18}, .need = Need::one_of_two, .when = value->when,
                  .example = "16", .partner = "value"};
  keys.insert(value + 1, power);
  return keys;
}

Keys describe(ProblemConfig& problem) {
  const When transient{"kind", {"transient"}}, steady{"kind", {"steady"}};
  return {
      {.name = "kind", .target = choice(problem.kind),
       .doc = "Follow the temperature in time, or find where it comes to rest."},
      {.name = "end_time", .target = &problem.end_time, .doc = "When to end; the last step ends there.",
       .unit = "s",
       .range = {0, 1e18}, .need = Need::one_of_two, .when = transient, .example = "1", .partner = "steps"},
      {.name = "steps", .target = &problem.steps,
       .doc = "How many steps to take; 0 writes the initial state.",
       .range = {0, 1e15}, .need = Need::one_of_two, .when = transient, .example = "1000",
       .partner = "end_time"},
      {.name = "dt", .target = &problem.dt,
       .doc = "Time step, at most the stable limit; shortened so that whole steps end at end_time.",
       .unit = "s",
       .range = times, .when = transient, .example = "1e-3", .absent = "dt_fraction of the stable limit",
       .absent_word = "auto"},
      {.name = "dt_fraction", .target = &problem.dt_fraction,
       .doc = "What dt: auto takes of the stable limit; less where the maximum principle needs it.",
       .range = {0, 1, true}, .when = transient},
      {.name = "allow_unstable", .target = choice(problem.allow_unstable, off_on),
       .doc = "Take a dt above the stable limit; for tests of divergence.", .when = transient},
      {.name = "weight", .target = &problem.weight,
       .doc = "Weight of the Jacobi sweep; with 1 a checkerboard error never decays.", .range = {0, 1, true},
       .when = steady},
      {.name = "tolerance", .target = &problem.tolerance,
       .doc = "Residual that ends the run: K if absolute, else a fraction of the first; 0: never.",
       .unit = "K or a fraction", .range = {0, 1e12}, .when = steady},
      {.name = "norm", .target = choice(problem.norm),
       .doc = "Norm of the residual: largest, root mean square or mean absolute value.", .when = steady},
      {.name = "criterion", .target = choice(problem.criterion),
       .doc = "Whether tolerance is absolute or relative to the first residual.", .when = steady},
      {.name = "max_sweeps", .target = &problem.max_sweeps, .doc = "Sweeps after which a run gives up.",
       .range = counts, .when = steady},
      {.name = "mean_temperature", .target = &problem.mean_temperature,
       .doc = "The mean over the box, where no wall fixes the temperature.", .unit = "K", .range = kelvins,
       .when = steady, .example = "300", .absent = "the walls fix it"},
      {.name = "check_interval", .target = &problem.check_interval,
       .doc = "Sweeps or steps from one residual, and check for NaN, to the next.", .range = {1, 1e9}},
      {.name = "check", .target = choice(problem.check),
       .doc = "Wait for each residual, or sweep on and look at it when the next is due: the run ends that later."},
  };
}

Keys describe(SolverConfig& solver) {
  return {
      {.name = "kernel", .target = &solver.kernel,
       .doc = "The stencil kernel: auto or a name that isotherm list prints."},
      {.name = "tile", .target = &solver.tile,
       .doc = "The launch configuration of the kernel: auto or one of its tiles, which isotherm list names."},
      {.name = "reduction", .target = &solver.reduction,
       .doc = "The reduction of the norms: auto or a name that isotherm list prints."},
      {.name = "histogram", .target = &solver.histogram,
       .doc = "The histogram of the diagnostics: auto or a name that isotherm list prints."},
      {.name = "halo_width", .target = &solver.halo_width,
       .doc = "Layers of ghosts that a halo exchange fills, and sweeps from one exchange to the next: fewer messages, for "
              "cells near the faces that both neighbours compute.",
       .range = {1, 64}, .example = "4", .absent = "what costs least, by a short measurement at the start",
       .absent_word = "auto"},
      {.name = "time_block", .target = &solver.time_block,
       .doc = "Sweeps that one launch of a temporal kernel takes, at most.", .range = {1, 64}, .example = "4",
       .absent = "halo_width; without an exchange as many as a trial finds fastest", .absent_word = "auto"},
      {.name = "cuda_graph", .target = choice(solver.cuda_graph, auto_true_false),
       .doc = "Queue the sweeps between two checks as a whole, as CUDA graphs; auto where a trial shows that it pays."},
      {.name = "tuning_file", .target = &solver.tuning_file,
       .doc = "Keeps what auto finds by trial, by device, precision and shape: the next run need not try.",
       .example = "tuning.json", .absent = "a trial at every start"},
      {.name = "walltime", .target = &solver.walltime,
       .doc = "Boundary time that the run may take: it stops, with a checkpoint, while there is time to write it. Slurm's end of "
              "the job (SLURM_JOB_END_TIME) is obeyed too.",
       .unit = "s", .range = {1e-3, 1e9}, .example = "3500", .absent = "as long as it takes"},
  };
}

Keys describe(ParallelConfig& parallel) {
  return {
      {.name = "process_grid", .target = &parallel.process_grid,
       .doc = "Ranks along x, y and z; their product is the number of ranks.", .range = {1, 1e6},
       .example = "[2, 2, 1]", .absent = "the cheapest by estimate", .absent_word = "auto"},
      {.name = "device", .target = key_makers::device_choice(parallel.device),
       .doc = "Where to compute; auto takes a GPU when there is one, and gpu means cuda."},
      {.name = "ranks_per_gpu", .target = &parallel.ranks_per_gpu,
       .doc = "The most ranks that may share one GPU.",
       .range = {1, 1024}, .example = "1", .absent = "any number, with a warning", .absent_word = "auto"},
      {.name = "overlap", .target = choice(parallel.overlap, overlaps),
       .doc = "Sweep the interior while halos are under way; in_kernel: sweeps store their faces into the neighbours' "
              "ghosts (GPUs of one host); auto tries all on several GPUs."},
      {.name = "transport", .target = &parallel.transport,
       .doc = "How halos get to the neighbours (isotherm list); auto tries all and takes the fastest for each."},
      {.name = "probe_timeout", .target = &parallel.probe_timeout,
       .doc = "How long a transport that is tried may take to answer.", .unit = "s", .range = {0.01, 3600}},
  };
}

Keys describe(HistogramConfig& histogram) {
  return {
      {.name = "bins", .target = &histogram.bins,
       .doc = "Bins of equal width; cells below, above and NaN are counted too. 0: no histogram.",
       .range = {0, 4096}},
      {.name = "range", .target = &histogram.range,
       .doc = "Where the bins begin and end, for the whole run; auto: the least and the largest of the initial state, "
              "and of walls and surroundings whose temperature is a number.",
       .unit = "K", .range = kelvins, .example = "[290, 400]", .absent = "known before the first sweep",
       .absent_word = "auto"},
  };
}

Keys describe(CheckpointConfig& checkpoint) {
  const When written{"write", {"true"}};
  return {
      {.name = "write", .target = choice(checkpoint.write, off_on),
       .doc = "Write checkpoints: by interval where one is given, and when a signal or the wall time stops the run; may stand "
              "alone."},
      {.name = "every_steps", .target = &checkpoint.every_steps,
       .doc = "Steps or sweeps from one checkpoint to the next.", .range = counts, .when = written,
       .example = "10000", .absent = "none by steps"},
      {.name = "every_time", .target = &checkpoint.every_time,
       .doc = "Time from one checkpoint to the next, instead of every_steps; transient problems only.", .unit = "s",
       .range = times, .when = written, .example = "10", .absent = "none by time"},
      {.name = "every_wall", .target = &checkpoint.every_wall,
       .doc = "Boundary time from one checkpoint to the next.", .unit = "s of wall time", .range = {0.1, 1e9},
       .when = written, .example = "1800", .absent = "none by the clock"},
      {.name = "keep", .target = &checkpoint.keep, .doc = "How many stay, the newest; older ones are deleted.",
       .range = {2, 1e6}, .when = written},
      {.name = "final", .target = choice(checkpoint.final, auto_true_false),
       .doc = "Write one where the run ends, to go on from with more steps; auto: where an interval is given, and where a steady "
              "run ends above its tolerance.",
       .when = written},
  };
}

Keys describe(OutputConfig& output) {
  const When history{"history", {"true"}};
  return {
      {.name = "directory", .target = &output.directory,
       .doc = "Folder of the run, made if missing; a relative path starts where isotherm is started.",
       .example = "runs/hot_box", .absent = "runs/<name of the deck>"},
      {.name = "overwrite", .target = choice(output.overwrite, off_on),
       .doc = "Replace the run that the folder holds."},
      {.name = "snapshots", .target = choice(output.snapshots, off_on),
       .doc = "Write the field; false: none at all, whatever the intervals."},
      {.name = "every_steps", .target = &output.every_steps,
       .doc = "Steps or sweeps from one snapshot to the next.",
       .range = counts, .example = "100", .absent = "only the last state"},
      {.name = "every_time", .target = &output.every_time,
       .doc = "Time from one snapshot to the next, instead of every_steps; transient problems only.",
       .unit = "s",
       .range = times, .example = "0.1", .absent = "only the last state"},
      {.name = "asynchronous", .target = choice(output.asynchronous, off_on),
       .doc = "Write snapshots, slices, the region and the coarse field while sweeps go on, from a copy, by a thread that "
              "wants a core of its own; false: in step."},
      {.name = "history", .target = choice(output.history, off_on),
       .doc = "Write history.csv, a line a check."},
      {.name = "diagnostics", .target = &output.diagnostics,
       .doc = "Sweeps from one line of diagnostics in history.csv to the next: extremes, mean, heat (needs density and "
              "heat_capacity, or diffusivity, beside conductivity), heat through each wall (needs conductivity), the "
              "balance, the histogram.",
       .range = counts, .when = history, .example = "100", .absent = "none"},
      {.name = "histogram", .target = Section{describe(output.histogram), {}},
       .doc = "A histogram of all cells in each line of the diagnostics.", .when = history},
      {.name = "precision", .target = choice(output.precision),
       .doc = "Of the cells in all files: that of the field, or rounded to fp32 (half the size; no bitwise restart)."},
      {.name = "compression", .target = &output.compression,
       .doc = "Level of deflate (gzip), behind a shuffle of the bytes, of the cells in snapshots, slices, the region and the "
              "coarse field: 1 is the fastest, 9 the smallest, 0 stores them as they are. While it is written a file needs the "
              "room of one that is not compressed. Checkpoints never are: where one is wanted, there is no time to lose.",
       .range = {0, 9}, .example = "1"},
      {.name = "xdmf", .target = choice(output.xdmf, off_on),
       .doc = "Write NAME.xmf beside NAME.hdf.series: XDMF over the same files, for ParaView, PyVista and VisIt, as cells in the box that they fill; always for files one cell thick."},
      {.name = "slices", .target = list_of("planes", output.slices, describe_slice),
       .doc = "Planes of cells, each in files of its own beside the snapshots.", .absent = "none"},
      {.name = "region", .target = Section{describe(output.region), {}},
       .doc = "A box of cells in files of its own: from and to, or first_cell and last_cell."},
      {.name = "coarse", .target = Section{describe(output.coarse), {}},
       .doc = "The field in larger cells, each the mean of those within it, in files of its own."},
      {.name = "probes", .target = Section{describe(output.probes), {}},
       .doc = "The temperature at points, a line of probes.csv each time."},
      {.name = "checkpoint", .target = Section{describe(output.checkpoint), "write"},
       .doc = "States to go on from, with isotherm run DECK --restart latest."},
      {.name = "on_error", .target = choice(output.on_error),
       .doc = "What a snapshot, slice, region or coarse field that cannot be written does: stop the run, or warn and go on "
              "without the file, all of which are written in step then. A checkpoint that cannot be written always stops it."},
  };
}

Keys describe(VerifyConfig& verify) {
  const When any{"solution", {"decaying_mode", "steady_profile", "manufactured", "formula", "slab_series"}};
  return {
      {.name = "solution", .target = choice(verify.solution),
       .doc = "Exact solution to compare with."},
      {.name = "modes", .target = &verify.modes,
       .doc = "Half waves along x, y and z, whole ones where periodic; 0: constant along that axis.",
       .range = {0, 1e6}, .when = {"solution", {"decaying_mode", "manufactured"}}},
      {.name = "amplitude", .target = &verify.amplitude, .doc = "Amplitude of the solution.", .unit = "K",
       .range = kelvins, .when = {"solution", {"decaying_mode", "manufactured"}}},
      {.name = "formula", .target = &verify.formula, .doc = "The solution as a formula of x, y, z and t.",
       .unit = "K",
       .range = kelvins, .need = Need::required, .when = {"solution", {"formula"}},
       .example = "\"300 + exp(-t)*cos(pi*x)\"", .variables = "xyzt"},
      {.name = "tolerance", .target = &verify.tolerance,
       .doc = "The largest error beyond which the run fails.",
       .unit = "K", .range = {0, 1e12}, .when = any, .example = "1e-3", .absent = "report only"},
      {.name = "order", .target = &verify.order,
       .doc = "Cells along x (or the first axis with more than one) of a series of runs, ascending, at least three: prints the "
              "observed order.",
       .range = {1, 1e12}, .when = any, .example = "[16, 32, 64]", .absent = "one run"},
      {.name = "expected_order", .target = &verify.expected_order,
       .doc = "Order that the series must show ...",
       .range = {0, 16}, .when = any},
      {.name = "order_tolerance", .target = &verify.order_tolerance, .doc = "... within this.",
       .range = {0, 16},
       .when = any},
  };
}

}  // namespace

Keys describe(Config& config) {
  return {
      {.name = "grid", .target = Section{describe(config.grid), {}}, .doc = "The box and its cells."},
      {.name = "material", .target = Section{describe(config.material), {}},
       .doc = "What the body is made of; only what the problem needs."},
      {.name = "precision", .target = choice(config.precision), .doc = "Of the field, in bits."},
      {.name = "boundaries", .target = Section{describe_boundaries(config), {}},
       .doc = "The six walls. x faces may use y, z, t in formulas, y faces x, z, t, z faces x, y, t."},
      {.name = "initial", .target = list_of("shapes", config.initial, describe_initial),
       .doc = "The initial temperature (steady: the first guess), painted in order from 0 K.",
       .absent = "[{shape: exact}] with verify, else it must be given"},
      {.name = "sources", .target = list_of("shapes", config.sources, describe_source),
       .doc = "Heat sources, painted in order from 0 W/m^3.", .absent = "none"},
      {.name = "problem", .target = Section{describe(config.problem), {}}, .doc = "What to solve."},
      {.name = "solver", .target = Section{describe(config.solver), {}}, .doc = "How to compute it."},
      {.name = "parallel", .target = Section{describe(config.parallel), {}}, .doc = "Where to compute it."},
      {.name = "output", .target = Section{describe(config.output), {}}, .doc = "What to write."},
      {.name = "verify", .target = Section{describe(config.verify), {}},
       .doc = "Compare with an exact solution."},
  };
}

}  // namespace isotherm
// clang-format on
