// Everything that a run reports, as plain numbers, for banner, final table and run.json. run.json (schema
// "isotherm-run", version 3) has a key for every field below, with its unit at the end (`_s`, `_K`,
// `_bytes_per_s`). null: not measured, or not finite and listed by its place in `not_finite`:
// {"/residual/last": "nan"}. Within a version keys are only added. run_record.cpp describes each key
// (`isotherm schema run` prints it); comments here add to these descriptions.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/boundary_laws.hpp"
#include "config/config.hpp"
#include "core/box.hpp"
#include "core/build_info.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/trace.hpp"
#include "halo/hiding.hpp"
#include "halo/links.hpp"
#include "physics/diagnostics.hpp"
#include "physics/region_values.hpp"

namespace isotherm {

struct HaloRecord {
  std::vector<HaloLink> pairs;   // every pair once, as seen by its lower rank, by rank and peer
  std::optional<HaloCost> cost;  // none without neighbours
};

// Collective; every rank returns all pairs.
std::vector<HaloLink> gather_pairs(const std::vector<HaloLink>& mine, const Communicator& communicator);

std::string direction_word(Direction d);                  // "x+", "y-z+"
std::string transports_in_use(const HaloRecord& record);  // "host", "peer, host"; "none" without neighbours

// For the banner: each pair if they are few, else medians by directions and transport; the hidden share.
std::vector<std::string> halo_lines(const HaloRecord& record);

// Files of snapshots and parts of the field; no checkpoints.
struct WritingRecord {
  std::int64_t files = 0, bytes = 0, cell_bytes = 0;
  int compression = 0;  // level of deflate; 0: none
  // Of the slowest rank: writing and verifying; waits of the sweeps; the part after the last sweep.
  double seconds = 0, exposed = 0, at_end = 0;
  std::string why_in_step;  // empty: written during the sweeps
  std::string viewer_file;  // rank 0's, for ParaView: the `.xmf`, or else the `.hdf.series`; empty: none
};

std::string writing_line(const WritingRecord& record);  // for the final table; empty without files

// Is raised when a key is removed, renamed, or changes its type, unit or meaning.
inline constexpr int run_schema_version = 3;  // 2: other words in `result`; 3: no `baseline`, no `weights`

struct Spread {  // over ranks
  double min = 0, mean = 0, max = 0;
};

struct RankInfo {  // a line of the table rank -> host -> device
  int rank = 0;
  std::string host;
  Backend backend = Backend::host;
  int device_index = -1;     // as the rank sees it; -1 on the host
  std::string device, uuid;  // name of the device; uuid is empty on the host
  int threads = 1;
  Index cells = 0;
  std::int64_t peak_bytes = 0;  // high-water mark of resident memory; 0: not known
};

// How steps are executed.
struct StepRecord {
  std::string kernel, tile, reduction;
  int time_block = 1, halo_width = 1;
  Overlap overlap = Overlap::off;
  bool graph = false;
};

struct Tuning {
  // deck: the deck sets all choices; defaults: nothing was measured, or too little yet.
  enum class Source { deck, defaults, measurement, file };
  Source source = Source::deck;
  std::string file;    // path of the tuning file, if one was read or written
  double seconds = 0;  // of the measurements
  std::int64_t sweeps = 0;
  Index planes = 0;
  bool complete = true;
  struct Candidate : StepRecord {
    double seconds = 0;  // per sweep, with its share of all work of a step
    int samples = 0;
  };
  std::vector<Candidate> candidates;  // in the order in which they were measured
};

ISOTHERM_WORDS(Tuning::Source, "deck", "defaults", "measurement", "file");

struct MethodRecord : StepRecord {  // the requested method and the choices
  Tuning tuning;
  std::string transport, why_single, instruction_set;
  std::string threads_note;  // ThreadPlan::note of rank 0
  std::string device_note;   // why the CPU is used although not requested; how GPUs are shared
  std::string name;
  ProblemKind problem = ProblemKind::transient;
  std::optional<double> dt, dt_limit, end_time;  // s
  std::optional<double> weight;
  std::int64_t cycle = 1, planned_sweeps = 0;
};

struct Performance {
  std::int64_t sweeps = 0, cycles = 0;
  double points = 0;
  double bytes_per_point = 0;                    // least_bytes_per_cell over the sweeps of one launch
  std::optional<double> copy_bandwidth = {};     // bytes read plus written per second, of all devices
  std::optional<double> predicted_seconds = {};  // of all sweeps, estimated before the first
  std::int64_t untimed_sweeps = 0;               // of the autotuner: no phase includes them
  double untimed_points = 0;                     // of these sweeps
  std::int64_t steps = 0, rejected_steps = 0;
  const char* predicted_as = "about";         // or "at most", ...: how predicted_seconds bounds the real time
  std::optional<double> values_seconds = {};  // per sweep, for values that vary in time; none: no such values
};

struct Figures {
  double stepping_seconds = 0;                            // of the slowest rank
  double points_per_second = 0, effective_bandwidth = 0;  // bandwidth of the least traffic, bytes/s
  double seconds_per_sweep = 0, halo_fraction = 0;        // halo over stepping time, means over ranks
  std::optional<double> copy_share, values_fraction;      // of copy bandwidth; of the stepping time
};

enum class Convergence { not_asked, reached, not_reached, stagnated, stalled };  // stagnated: at rounding
ISOTHERM_WORDS(Convergence, "not_asked", "reached", "not_reached", "stagnated", "stalled");
struct Residual {
  Norm norm = Norm::max;
  Criterion criterion = Criterion::relative;
  std::optional<double> tolerance;           // K, or relative to the first
  std::optional<double> first, last, error;  // K
  std::int64_t checks = 0, extra_sweeps = 0;
  Convergence convergence = Convergence::not_asked;
  Check check = Check::immediate;
  std::optional<std::int64_t> last_sweep;
};

struct HistogramRecord {  // of the histogram columns of history.csv
  std::string kernel;
  int bins = 0;
  double low_K = 0, high_K = 0;
};

enum class Verdict { reported, passed, failed };  // reported: the deck sets no bound
ISOTHERM_WORDS(Verdict, "reported", "passed", "failed");
struct OrderLevel {  // one grid of a series
  Int3 cells;
  std::int64_t sweeps = 0;
  std::optional<double> dt_s;  // transient
  double max_error_K = 0, l2_error_K = 0;
};

struct Verification {
  std::string solution;                    // the deck's word
  double max_error_K = 0, l2_error_K = 0;  // root mean square
  std::optional<double> tolerance_K;       // of the max error
  std::vector<OrderLevel> levels;          // of a series, coarse to fine
  std::vector<double> order;
  double expected_order = 0, order_tolerance = 0;
  Verdict verdict = Verdict::reported;

  // Judges the finest pair: coarser ones need not be in the asymptotic range.
  bool misses_order() const {
    return !order.empty() && !(std::abs(order.back() - expected_order) <= order_tolerance);
  }
};

struct Continuation {
  std::int64_t checkpoints = 0;  // written; only the newest are kept
  std::string newest;
  struct Restarted {
    std::string file;
    std::int64_t sweep = 0;
    double wall = 0;          // s, of earlier runs in this directory; 0: not known from their record
    std::int64_t sweeps = 0;  // of those runs; equals `sweep` if their record has no count
  };
  std::optional<Restarted> restarted;
  std::string stopped_by;  // as in LoopOutcome
};

enum class Answer { unchecked, finite, not_finite };
ISOTHERM_WORDS(Answer, "unchecked", "finite", "not_finite");

// The answer of a run: its highest and lowest temperature at the end, their places, and the heat flows.
struct EndState {
  bool steady = false;
  std::int64_t sweep = 0;
  double time = 0;  // s; 0 in a steady problem
  struct Extreme {
    double temperature_K = 0;
    Int3 cell;             // of the grid
    Vector3 position_m{};  // its centre
  };
  std::optional<Extreme> highest, lowest;  // none where every cell is NaN
  std::int64_t nan_cells = 0;
  // Transient: during the last step, as history.csv has it. Steady: of the final field, without a rate.
  std::optional<HeatFlows> heat;
  double rounding = 0;                   // W: smaller flows may be rounding alone, in fp64
  std::array<bool, face_count> faces{};  // true: not periodic
  struct VoidFlow {
    std::string name;
    double watts = 0;  // into the body
  };
  std::vector<VoidFlow> voids{};  // voids that exchange heat
  std::string why_no_heat;
};

using TitledLines = std::vector<std::pair<std::string, std::string>>;

// "352.1 K at (0.003, 0.001, 0.01) m, cell (12, 3, 40)".
std::string extreme_text(const EndState::Extreme& extreme);
std::string end_lines(const EndState& end);  // printed before the result
// Only the heat, read from a run.json; none if its field does not have this fingerprint, or it has no heat.
TitledLines read_heat_lines(const std::filesystem::path& run_json, std::uint64_t fingerprint);

struct MaterialRecord {
  NamedMaterial material;
  std::int64_t cells = 0;
  std::optional<EndState::Extreme> highest{}, lowest{};
};

struct RunRecord {
  BuildInfo build = build_info();
  std::string mpi, hdf5, started, finished, command_line;
  std::string name, deck_path, directory, resolved_deck;

  Int3 cells, process_grid;
  Vector3 lengths{};                  // m
  std::string domain;                 // "20 x 20 x 4 mm, cells of 1 x 1 x 1 mm"
  std::optional<HeatTotals> sources;  // of the last grid, as are materials
  const char* source_cells_note = "";
  std::vector<MaterialRecord> materials;
  std::vector<ContactConfig> contacts;
  std::array<std::vector<PlacedLaw>, face_count> laws{};  // by Face
  Index smallest_rank_cells = 0, largest_rank_cells = 0;
  Precision precision = Precision::fp64;
  std::vector<RankInfo> ranks;  // by rank
  MethodRecord method;

  PhaseTable<Spread> phases;  // s; an exchange that is hidden by a sweep costs nothing here
  Performance performance;
  HaloRecord halo;
  WritingRecord writing;
  Residual residual;
  std::optional<HistogramRecord> histogram;
  std::optional<Verification> verification;

  std::int64_t memory_estimate_bytes = 0;  // as estimated by `check`
  double time = 0;                         // s
  Answer answer = Answer::unchecked;
  std::optional<EndState> end_state;
  std::optional<std::uint64_t> fingerprint;
  std::vector<std::string> files;
  Continuation continuation;
  std::vector<PhaseTimes> profile;  // by rank; empty if it was not requested
  std::vector<std::string> warnings;
  ExitCode exit_code = ExitCode::internal;  // until the run has ended otherwise
  std::string message;
};

std::int64_t most_peak_bytes(const RunRecord& record);  // of the rank with the most; 0: not known
std::set<std::string> hosts_of(const std::vector<RankInfo>& ranks);
std::optional<Figures> figures(const RunRecord& record);  // none where nothing was swept or timed
enum class Better { lower, higher };
ISOTHERM_WORDS(Better, "lower", "higher");
struct FigureOfMerit {  // by which a run is better or worse than another
  std::string name;     // "cell_updates"
  double value = 0;
  std::string unit;  // "GLUP/s", "%"
  Better better = Better::higher;
  int decimals = 3;  // decimal places in print
};
// Figures of the FOM lines and `figures_of_merit`, all finite; none if the answer is wrong or missing.
std::vector<FigureOfMerit> foms(const RunRecord& record);
// The word of the RESULT line:
//
//     VERIFIED       the errors against the exact solution are within the deck's bounds
//     CONVERGED      a steady problem has reached its tolerance, or the rounding of its precision
//     DONE           the run is complete, and the deck asks for no more
//     NOT CONVERGED  it ended before the residual reached its tolerance
//     STOPPED        by a signal or the wall time; it can be resumed
//     FAILED         everything else
const char* result_word(const RunRecord& record);

std::string to_json(const RunRecord& record);  // never throws for strange text or numbers; ends in a newline
// JSON Schema (draft 7) of run.json: all keys are required, and no others are allowed.
std::string run_schema();

// Collective; every rank returns the same. `mine`: seconds of this rank; `stepping` is summed here.
PhaseTable<Spread> gather_phases(PhaseTimes mine, const Communicator& communicator);
std::vector<RankInfo> gather_ranks(const RankInfo& mine, const Communicator& communicator);

std::vector<PhaseTimes> gather_profiles(const PhaseTimes& mine, const Communicator& communicator);

// For `run --profile`: a line per rank, then the mean and its share of the loop. Of many ranks only those
// that swept longest and shortest: the fastest wait for the slowest. Columns that no rank has are omitted.
std::string profile_table(const std::vector<PhaseTimes>& profiles, const std::vector<RankInfo>& ranks);

// The report of a run: the banner before it, the table and the figures of merit after it.

// A line of the banner, printed again once the autotuner has chosen.
std::string kernel_line(const MethodRecord& method);
std::string banner(const RunRecord& record);
std::string final_table(const RunRecord& record);

// A line for each of foms(), for Ramble, ReFrame and JUBE: fixed words, plain decimals, unit last, "FOM
// cell_updates: 123.456 GLUP/s".
std::string figures_of_merit(const RunRecord& record);

// The last lines of a run: figures of merit, its end state, its result.
std::string closing_lines(const RunRecord& record);

}  // namespace isotherm
