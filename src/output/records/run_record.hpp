// Everything that a run reports, as plain numbers, for banner, final table and run.json. run.json (schema
// "isotherm-run", version 3) has a key for every field below, with its unit at the end (`_s`, `_K`,
// `_bytes_per_s`). null: not measured, or not finite and listed by its place in `not_finite`:
// {"/residual/last": "nan"}. Keys are only ever added within a version.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "core/box.hpp"
#include "core/build_info.hpp"
#include "core/communicator.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/trace.hpp"
#include "grid/process_grid.hpp"
#include "halo/hiding.hpp"
#include "halo/links.hpp"
#include "physics/diagnostics.hpp"
#include "physics/region_values.hpp"

namespace isotherm {

struct HaloPair {
  int rank;       // the lower of the two
  HaloLink link;  // as it has it
};

struct HaloRecord {
  std::vector<HaloPair> pairs;   // every pair once, by rank and peer
  std::optional<HaloCost> cost;  // none without neighbours
};

// Collective; every rank returns all pairs.
std::vector<HaloPair> gather_pairs(const std::vector<HaloLink>& mine, const Communicator& communicator);

std::string direction_word(Direction d);                  // "x+", "y-z+"
std::string transports_in_use(const HaloRecord& record);  // "host", "peer, host"; "none" without neighbours

// For the banner: each pair where they are few, else medians by directions and transport; what is hidden.
std::vector<std::string> halo_lines(const HaloRecord& record);

// Of snapshots and parts of the field; not of checkpoints.
struct WritingRecord {
  std::int64_t files = 0, bytes = 0;
  std::int64_t cell_bytes = 0;  // of their cells before compression
  int compression = 0;          // level of deflate; 0: none
  // Of the slowest rank: writing and proving; the sweeps' waits; after the last sweep, hidden by nothing.
  double seconds = 0, exposed = 0, at_end = 0;
  std::string why_in_step;  // empty: written beside the sweeps
};

std::string writing_line(const WritingRecord& record);  // for the final table; empty without files

// Rises when a key goes, is renamed, or changes its type, unit or meaning.
inline constexpr int run_schema_version = 3;  // 2: other words in `result`; 3: no `baseline`

struct Spread {  // over ranks
  double min = 0, mean = 0, max = 0;
};

struct RankInfo {  // a line of the table rank -> host -> device
  int rank = 0;
  std::string host;
  Backend backend = Backend::host;
  int device_index = -1;  // as the rank sees it; -1 on the host
  std::string device;     // its name
  std::string uuid;       // empty on the host
  int threads = 1;
  Index cells = 0;
  std::int64_t peak_bytes = 0;  // high-water mark of the rank's resident host memory
};

// What steps are made with.
struct StepRecord {
  std::string kernel, tile;  // of the registry
  std::string reduction;     // of the autotuner's candidates, those alone whose steps ended with a norm
  int time_block = 1;        // sweeps for one launch, where nothing is due before
  int halo_width = 1;        // sweeps for one halo exchange
  Overlap overlap = Overlap::off;
  bool graph = false;  // the sweeps between checks are queued as graphs
};

struct Tuning {
  // deck: nothing was left open; defaults: nothing was measured, or too little yet.
  enum class Source { deck, defaults, measurement, file };
  Source source = Source::deck;
  std::string file;         // of the tuning file, where one was read or written
  double seconds = 0;       // that measurements took
  std::int64_t sweeps = 0;  // of the run, that were measured
  Index planes = 0;         // of a rank, that were swept: fewer than it has where a sweep takes long
  bool complete = true;     // no candidate was left out for want of time
  struct Candidate : StepRecord {
    double seconds = 0;  // of a sweep, with its share of all that a step does
    int samples = 0;
  };
  std::vector<Candidate> candidates;  // in the order in which they were measured
};

ISOTHERM_WORDS(Tuning::Source, "deck", "defaults", "measurement", "file");

struct MethodRecord : StepRecord {  // what was asked and what was chosen
  Tuning tuning;
  std::string transport;        // of the halos, or several
  std::string why_single;       // where the kernel could fuse some, and they are not
  std::string instruction_set;  // of the host kernels; empty on a GPU
  std::string threads_note;     // ThreadPlan::note of rank 0
  ProblemKind problem = ProblemKind::transient;
  std::optional<double> dt;         // s, transient
  std::optional<double> dt_limit;   // s, transient: the largest stable step
  std::optional<double> end_time;   // s, transient
  std::string name;                 // jacobi, chebyshev, multigrid, euler
  std::int64_t cycle = 1;           // sweeps
  std::optional<double> weight;     // steady, of a unit sweep
  std::int64_t planned_sweeps = 0;  // transient: all of them; steady: the most
  std::string device_note;          // why the CPU was taken, where it was not asked for; how GPUs are shared
};

struct Performance {
  std::int64_t sweeps = 0;     // done by this run, on all grids of a series
  std::int64_t cycles = 0;     // completed; sweeps where the method has none
  double points = 0;           // cell updates: cells times sweeps
  double bytes_per_point = 0;  // least traffic: least_bytes_per_cell over the sweeps of one launch
  std::optional<double>
      copy_bandwidth;  // bytes read plus written a second, measured in this run on these devices, summed
  std::optional<double> predicted_seconds = {};  // of all sweeps, before the first of them
  // Of the autotuner and before, of which the phases have no times.
  std::int64_t untimed_sweeps = 0;
  double untimed_points = 0;
  std::int64_t steps = 0;  // parts of steps that were taken for a tolerance; 0 where steps have one length
  std::int64_t rejected_steps = 0;            // of them, taken again as shorter ones
  std::optional<double> values_seconds = {};  // of a step, for values that vary in time; none: nothing does
};

struct Figures {
  double stepping_seconds = 0;  // of the slowest rank
  double points_per_second = 0;
  double effective_bandwidth = 0;  // bytes per second, least traffic
  double seconds_a_step = 0;
  double halo_fraction = 0;               // of the stepping time, by means over ranks
  std::optional<double> copy_share;       // effective bandwidth over copy bandwidth
  std::optional<double> values_fraction;  // of the stepping time
};

enum class Convergence { not_asked, reached, not_reached, stagnated, stalled };  // stagnated: at rounding
ISOTHERM_WORDS(Convergence, "not_asked", "reached", "not_reached", "stagnated", "stalled");
struct Residual {
  Norm norm = Norm::max;
  Criterion criterion = Criterion::relative;
  std::optional<double> tolerance;    // steady; K, or relative to the first
  std::optional<double> first, last;  // K
  std::optional<double> error;        // K; steady: of the field, at most in the l2 norm, else about
  std::int64_t checks = 0;
  Convergence convergence = Convergence::not_asked;
  Check check = Check::immediate;
  std::optional<std::int64_t> last_sweep;  // to which `last` belongs
  std::int64_t extra_sweeps = 0;           // done after last_sweep, until a asynchronous check ended the run
};

struct HistogramRecord {  // what the columns of history.csv mean
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
  std::string solution;  // the deck's word
  double max_error_K = 0;
  double l2_error_K = 0;              // root mean square
  std::optional<double> tolerance_K;  // of the max error
  std::vector<OrderLevel> levels;     // of a series, coarse to fine
  std::vector<double> order;          // observed between neighbours of it
  Verdict verdict = Verdict::reported;
};

struct Continuation {
  std::int64_t checkpoints = 0;  // written; the newest of them stay
  std::string newest;            // the last of them
  struct Restarted {
    std::string file;
    std::int64_t sweep = 0;
  };
  std::optional<Restarted> restarted;
  std::string stopped_by;  // "SIGUSR1", "the wall time"; empty where the run came to its end
};

enum class Answer { unchecked, finite, not_finite };
ISOTHERM_WORDS(Answer, "unchecked", "finite", "not_finite");

// The answer of a run: the highest and the lowest temperature at its end, where, and the heat that flows.
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
  std::array<bool, face_count> faces{};  // that are not periodic
  struct VoidFlow {
    std::string name;
    double watts = 0;  // into the body
  };
  std::vector<VoidFlow> voids{};  // with a law
  std::string why_no_heat;
};

using TitledLines = std::vector<std::pair<std::string, std::string>>;

// "352.1 K at (0.003, 0.001, 0.01) m, cell (12, 3, 40)".
std::string extreme_text(const EndState::Extreme& extreme);
std::string end_lines(const EndState& end);  // what a run prints before its result
// Of the heat alone, from a run.json; none where it does not tell that of the field of this fingerprint.
TitledLines read_heat_lines(const std::filesystem::path& run_json, std::uint64_t fingerprint);

struct MaterialRecord {
  std::string name;
  std::int64_t cells = 0;
  std::optional<Vector3> conductivity{};                 // W/(m K), along x, y, z; none of a void
  std::optional<double> heat_capacity{};                 // rho c, J/(m^3 K)
  std::optional<double> coefficient{}, ambient{};        // W/(m^2 K), K; of a void with a law
  std::optional<EndState::Extreme> highest{}, lowest{};  // at the end of the run; none of a void
};
struct LawRecord {  // of a face
  BoundaryKind kind = BoundaryKind::insulated;
  std::string value{}, coefficient{};  // as in the deck
  bool everywhere = true;              // on the whole face
};

struct RunRecord {
  BuildInfo build = build_info();
  std::string mpi, hdf5;          // library versions
  std::string started, finished;  // UTC, ISO 8601
  std::string command_line;       // as typed, combined by spaces

  std::string name;           // of the run
  std::string deck_path;      // as given
  std::string directory;      // of the run
  std::string resolved_deck;  // YAML

  Int3 cells, process_grid;
  std::array<double, 3> lengths{};                        // m, of the domain
  std::array<double, 3> smallest_cell{}, largest_cell{};  // m; 0 where all cells are alike
  std::optional<SourceTotals> sources;                    // of the last grid; none without sources
  std::vector<MaterialRecord> materials;                  // of a body of several, of the last grid
  std::vector<ContactConfig> contacts;                    // of such a body
  std::array<std::vector<LawRecord>, face_count> laws{};  // by Face; they add up
  ExchangeWeights weights;                                // by which process_grid: auto is the cheapest
  Index smallest_rank_cells = 0, largest_rank_cells = 0;
  Precision precision = Precision::fp64;
  std::vector<RankInfo> ranks;  // by rank
  MethodRecord method;

  PhaseTable<Spread> phases;  // s; what a rank waited for: a halo hidden behind a sweep costs nothing here
  Performance performance;
  HaloRecord halo;
  WritingRecord writing;
  Residual residual;
  std::optional<HistogramRecord> histogram;
  std::optional<Verification> verification;

  std::int64_t memory_estimate_bytes = 0;  // of the largest rank, fields and buffers, as `check` says

  double time = 0;  // s, of the problem, reached
  Answer answer = Answer::unchecked;
  std::optional<EndState> end_state;  // none of a run that has diverged, or whose transport moves nothing
  std::optional<std::uint64_t> fingerprint;  // of the final field
  std::vector<std::string> files;            // written, relative to the run directory; without checkpoints
  Continuation continuation;
  std::vector<PhaseTimes> profile;  // by rank; empty where it was not asked for
  std::vector<std::string> warnings;
  ExitCode exit_code = ExitCode::internal;  // until the run has ended otherwise
  std::string message;                      // of the error that ended it
};

std::int64_t most_peak_bytes(const RunRecord& record);  // of a rank; 0: not known
std::set<std::string> hosts_of(const RunRecord& record);
std::optional<Figures> figures(const RunRecord& record);  // none where nothing was swept or timed
enum class Better { lower, higher };
ISOTHERM_WORDS(Better, "lower", "higher");
struct FigureOfMerit {  // by which a run is better or worse than another
  std::string name;     // "cell_updates"
  double value = 0;
  std::string unit;  // "GLUP/s", "%"
  Better better = Better::higher;
  int decimals = 3;  // behind the point, where it is printed
};
// What the FOM lines and `figures_of_merit` hold; none of a run whose answer is wrong, or that has none.
std::vector<FigureOfMerit> foms(const RunRecord& record);
// What was shown, the word of the RESULT line:
//
//     VERIFIED       the errors against the exact solution are within the deck's bounds
//     CONVERGED      a steady problem has reached its tolerance
//     DONE           the run came to its end, and the deck asked for no more
//     NOT CONVERGED  it came to the last sweep that was allowed, and not to its tolerance
//     STOPPED        by a signal or the wall time; it can be resumed
//     FAILED         all else
const char* result_word(const RunRecord& record);

std::string to_json(const RunRecord& record);  // never throws for strange text or numbers; ends in a newline
// Of run.json, by JSON Schema (draft 7): all keys are required, and no others allowed.
std::string run_schema();

// Collective; every rank returns the same. `mine`: seconds of this rank; `stepping` is summed here.
PhaseTable<Spread> gather_phases(PhaseTimes mine, const Communicator& communicator);
std::vector<RankInfo> gather_ranks(const RankInfo& mine, const Communicator& communicator);

std::vector<PhaseTimes> gather_profiles(const PhaseTimes& mine, const Communicator& communicator);

// For `run --profile`: a line per rank, then the mean and its share of the loop. Of many ranks those that
// swept longest and shortest: the others wait for the first. Columns that no rank has are left out.
std::string profile_table(const std::vector<PhaseTimes>& profiles, const std::vector<RankInfo>& ranks);

std::int64_t peak_memory_bytes();  // this process's high-water mark of resident memory (VmHWM); 0 if unknown

// What a run prints about itself: the banner before it, the table and the figures of merit after it.

// Of the banner, and again once the autotuner has chosen.
std::string kernel_line(const MethodRecord& method);
std::string banner(const RunRecord& record);
std::string final_table(const RunRecord& record);

// A line for each of foms(), for Ramble, ReFrame and JUBE: fixed words, plain decimals, unit last, "FOM
// cell_updates: 123.456 GLUP/s". Empty where the answer is wrong or missing; none for what is not finite.
std::string figures_of_merit(const RunRecord& record);

// What a run ends with: figures of merit, its end state, its result.
std::string closing_lines(const RunRecord& record);

}  // namespace isotherm
