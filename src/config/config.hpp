// The whole deck as plain structs: the user's request, with defaults. SI units, kelvin.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/expression.hpp"
#include "config/yaml_tree.hpp"
#include "core/box.hpp"
#include "core/enum_words.hpp"

namespace isotherm {

inline constexpr double countable_steps = 9007199254740992.0;  // 2^53: a double holds all integers up to it

using Vector3 = std::array<double, 3>;   // x, y, z
using Interval = std::array<double, 2>;  // low, high

enum class Precision { fp32, fp64, mixed };  // mixed: an fp64 field, whose changes are solved for in fp32
ISOTHERM_WORDS(Precision, "fp32", "fp64", "mixed");

struct SpacingZone {  // cells of one size along an axis
  std::int64_t cells = 0;
  double size = 0;  // m
  bool operator==(const SpacingZone&) const = default;
};
struct GridConfig {
  Int3 cells;                      // required, except along axes with zones
  std::optional<Vector3> lengths;  // m; exactly one of lengths and spacing
  std::optional<Vector3> spacing;  // m; along an axis with zones: the cell size of the first zone
  // From the lower end; neighbouring zones differ in size. Empty: all cells of the axis have one size.
  std::array<std::vector<SpacingZone>, 3> zones{};
  Vector3 origin{0, 0, 0};  // m, the corner of the box
  bool is_sample = false;   // a coarser copy of a grid: datasets of regions have the cells of the finer one

  bool is_graded(int axis) const { return !zones[axis].empty(); }
  bool is_graded() const { return is_graded(0) || is_graded(1) || is_graded(2); }
};

struct MaterialConfig {                 // which values are required depends on the problem
  std::optional<double> conductivity;   // W/(m K)
  std::optional<double> density;        // kg/m^3
  std::optional<double> heat_capacity;  // J/(kg K)
  std::optional<double> diffusivity;    // m^2/s; instead of density and heat_capacity
  std::string default_material;         // in `materials`: the material of cells that no region covers
};

struct NamedMaterial {  // an entry of materials
  std::string name;
  std::optional<Vector3> conductivity{};         // W/(m K), along x, y, z; none for a void
  std::optional<double> density, heat_capacity;  // as in MaterialConfig
  std::optional<double> ambient, coefficient;    // K, W/(m^2 K); for a void, which is not part of the body

  bool is_void() const { return !conductivity; }
  double volumetric_heat_capacity() const { return density.value_or(1) * heat_capacity.value_or(1); }
};

struct ContactConfig {
  std::vector<std::string> between;  // two materials
  double resistance = 0;             // m^2 K/W
};

enum class BoundaryKind { temperature, flux, convection, insulated, periodic };
ISOTHERM_WORDS(BoundaryKind, "temperature", "flux", "convection", "insulated", "periodic");
struct FacePatch {                   // a rectangle on a face
  std::optional<Interval> from, to;  // two corners, m along the face's two axes; neither: the whole face
  bool is_given() const { return from.has_value(); }
};
struct LawConfig {
  BoundaryKind kind = BoundaryKind::insulated;
  Expression value{};  // temperature: K; flux: W/m^2 into the body; convection: the ambient temperature, K
  Expression coefficient{};  // convection: W/(m^2 K)

  bool has_temperature() const {
    return kind == BoundaryKind::temperature || kind == BoundaryKind::convection;
  }
};
struct BoundaryConfig : LawConfig {
  FacePatch where{};
  LawConfig rest{};                    // the condition around the patch `where`
  std::vector<BoundaryConfig> laws{};  // a list in the deck: these add up, and no other member is set
};

enum class Shape { constant, box, sphere, cylinder, gaussian, formula, dataset, exact, double_ellipsoid };
ISOTHERM_WORDS(Shape, "constant", "box", "sphere", "cylinder", "gaussian", "formula", "dataset", "exact",
               "double_ellipsoid");
enum class AxisDirection { x, minus_x, y, minus_y, z, minus_z };
ISOTHERM_WORDS(AxisDirection, "x", "-x", "y", "-y", "z", "-z");
enum class RegionMode { set, add };
ISOTHERM_WORDS(RegionMode, "set", "add");
struct RegionValue {  // one entry of initial (value in K) or sources (value in W/m^3, or power)
  Shape shape = Shape::constant;
  RegionMode mode = RegionMode::set;
  std::optional<double> value;      // constant, box, sphere, cylinder; gaussian: the peak
  std::optional<Expression> power;  // sources, instead of value: W in the whole shape, as a function of t
  Vector3 from{}, to{};             // box: two corners, m; at t = 0
  Vector3 centre{};                 // sphere, cylinder, gaussian, double_ellipsoid, m; at t = 0
  std::array<Expression, 3> from_at{}, to_at{}, centre_at{};  // sources: the same, m, as functions of t
  double radius = 0;                                          // sphere, cylinder, m
  int axis = 2;                                               // cylinder: 0, 1, 2
  double length = 0;                                          // cylinder: m along its axis, centred
  double width = 0;                                           // gaussian: standard deviation, m
  // double_ellipsoid, m: the distances from the centre at which its density is exp(-3) of that at the centre
  double front = 0, rear = 0, half_width = 0, depth = 0;
  std::optional<double> front_share;  // share of the heat ahead of the centre; none: the density has no jump
  AxisDirection travel = AxisDirection::x, into = AxisDirection::minus_z;
  Expression formula;                    // formula: of x, y, z; in sources also of t
  std::string file;                      // dataset: HDF5 file and ...
  std::string dataset = "/temperature";  // ... the path of a (nz, ny, nx) dataset in it
  std::string contents;                  // contents_text() of the file; decks of users may leave it out

  bool moves() const {
    const auto any = [](const std::array<Expression, 3>& place) {
      return std::ranges::any_of(place, [](const Expression& along) { return along.uses('t'); });
    };
    return any(from_at) || any(to_at) || any(centre_at);
  }
  bool uses_time() const {
    return (power && power->uses('t')) || moves() || (shape == Shape::formula && formula.uses('t'));
  }
  // Is it a source that the device of the field computes (physics/varying_sources.hpp)?
  bool varies() const { return uses_time() || shape == Shape::double_ellipsoid; }
};

enum class RegionShape { layers, box, sphere, cylinder, dataset };
ISOTHERM_WORDS(RegionShape, "layers", "box", "sphere", "cylinder", "dataset");
struct LayerConfig {
  std::string material;
  double thickness = 0;  // m
};
struct MappedId {
  std::string id;  // a whole number, as written
  std::string material;
};
struct MaterialRegion {  // an entry of regions
  RegionShape shape = RegionShape::layers;
  std::string material;             // box, sphere, cylinder; dataset: for numbers that `map` does not have
  RegionValue place;                // place and size of the shape; `axis` also of layers; `file`, `dataset`
  std::vector<LayerConfig> layers;  // from the lower face of the box upwards
  std::vector<MappedId> map;        // dataset: by number; other numbers change no cell if `material` is empty
};

enum class ProblemKind { transient, steady };
ISOTHERM_WORDS(ProblemKind, "transient", "steady");
enum class Norm { max, l2, l1 };
ISOTHERM_WORDS(Norm, "max", "l2", "l1");
enum class Criterion { absolute, relative, error };  // error: of the field, as the residual bounds it
ISOTHERM_WORDS(Criterion, "absolute", "relative", "error");
enum class Check { immediate, asynchronous };
ISOTHERM_WORDS(Check, "immediate", "asynchronous");
enum class MethodName { jacobi, chebyshev, multigrid, euler, rkl, implicit };  // euler and later: transient
ISOTHERM_WORDS(MethodName, "jacobi", "chebyshev", "multigrid", "euler", "rkl", "implicit");
enum class Scheme { backward_euler, sdirk2 };
ISOTHERM_WORDS(Scheme, "backward_euler", "sdirk2");
enum class Acceleration { none, cg };
ISOTHERM_WORDS(Acceleration, "none", "cg");
struct ProblemConfig {
  ProblemKind kind = ProblemKind::transient;
  MethodName method = MethodName::euler;
  Acceleration accelerate = Acceleration::none;  // conjugate gradients around multigrid cycles
  // transient
  std::optional<double> dt;  // s; none: dt_fraction of the limit, for euler at most monotone_dt()
  double dt_fraction = 0.9;
  std::optional<double> end_time;  // s; exactly one of end_time and steps
  std::optional<std::int64_t> steps;
  Scheme scheme = Scheme::sdirk2;  // for implicit
  bool allow_unstable = false;     // for tests of divergence
  // steady
  std::optional<std::int64_t> cycle;  // sweeps; none: chosen from grid and boundaries (solver/method.hpp)
  double weight = 0.99;
  std::optional<double> error;  // K; short for criterion error and this tolerance
  Norm norm = Norm::max;
  Criterion criterion = Criterion::relative;
  std::int64_t max_sweeps = 3000000;       // 256^3 cells with one face of fixed temperature need 2.2 million
  std::optional<std::int64_t> max_cycles;  // instead of max_sweeps
  std::optional<double> mean_temperature;  // K; fixes the mean where no boundary does
  // Not in the deck, s: set for the grids on which an implicit step is solved. Their operator is
  // T/implicit_dt minus that of a steady problem, with the coefficients of boundaries at implicit_time.
  std::optional<double> implicit_dt;
  double implicit_time = 0;
  // both
  // Steady: K for criteria absolute and error, else a fraction of the first residual. Transient: the error of
  // a part of a step, K; none: all steps have one length.
  std::optional<double> tolerance;
  static constexpr double steady_tolerance = 1e-6;  // the default of steady problems
  std::int64_t check_interval = 100;  // sweeps or cycles between two residuals (and checks for NaN)
  Check check = Check::immediate;     // asynchronous: a residual is evaluated at the next event
};

enum class GraphChoice { automatic, on, off };
struct SolverConfig {
  std::string kernel = "auto";
  std::string tile = "auto";  // launch configuration of the kernel
  std::string reduction = "auto";
  std::string histogram = "auto";
  std::string tuning_file;        // keeps the results of the autotuner, by device and shape; empty: none
  double tuning_budget = 1;       // s that the autotuner may spend on measurements; 0: use defaults
  std::optional<int> halo_width;  // ghost layers per exchange, which serves as many sweeps; none: autotuned
  std::optional<int> time_block;  // sweeps per launch, at most; none: autotuned
  // Not in the deck: ghost layers of fields if halo_width is not set, the most that the autotuner may try.
  int ghosts = 1;
  // Not in the deck: the most cells of a coarse grid that every rank computes as a whole; none: by backend.
  std::optional<Index> whole_grid;
  GraphChoice cuda_graph = GraphChoice::automatic;  // queue the sweeps between checks as CUDA graphs
  std::optional<double> walltime;                   // s that a run may take, from its start
};

enum class DeviceChoice { automatic, cpu, cuda };
enum class Overlap { automatic, on, off, in_kernel };
ISOTHERM_WORDS(Overlap, "auto", "on", "off", "in_kernel");
struct ParallelConfig {
  std::optional<Int3> process_grid;  // none: the cheapest by estimate
  DeviceChoice device = DeviceChoice::automatic;
  std::optional<int> ranks_per_gpu;  // the most that may share a GPU; none: any number, with a warning
  Overlap overlap = Overlap::automatic;
  std::string transport = "auto";  // of halos
  double probe_timeout = 10;       // s that a transport may take to answer when it is tried
};

struct HistogramConfig {
  int bins = 0;                   // 0: none
  std::optional<Interval> range;  // K; none: from the temperatures known before the first sweep
};

// The times of an output. The last state is always written; without an interval it is the only one.
struct OutputTimes {
  std::optional<std::int64_t> every_steps;
  std::optional<double> every_time;  // s, transient only
};

struct SliceConfig {                 // a plane of cells
  std::string name;                  // in its file names; default: axis and cell, "z12"
  int axis = 2;                      // normal to it: 0, 1, 2
  std::optional<double> position;    // m; exactly one of position and cell
  std::optional<std::int64_t> cell;  // index along the axis
  OutputTimes times;
};

struct RegionConfig {                         // a box of cells: one of the two pairs, or neither: no region
  std::optional<Vector3> from, to;            // m, two corners
  std::optional<Int3> first_cell, last_cell;  // both inside
  OutputTimes times;
};

struct CoarseConfig {
  std::optional<Int3> factor;  // cells along x, y and z per coarse cell; none: no coarse field
  OutputTimes times;
};

struct ProbePoint {
  std::string name;  // default: "p0", "p1", ... by its number in the list
  Vector3 at{};      // m
};
struct ProbesConfig {
  std::vector<ProbePoint> points;
  OutputTimes times;
};

enum class OnError { stop, warn };
ISOTHERM_WORDS(OnError, "stop", "warn");

enum class OutputPrecision { same, fp32 };  // same: the field's
ISOTHERM_WORDS(OutputPrecision, "same", "fp32");

enum class FinalCheckpoint { automatic, on, off };
struct CheckpointConfig : OutputTimes {
  bool write = true;                 // false: no checkpoints, so that a stopped run is lost
  std::optional<double> every_wall;  // s of wall time
  int keep = 2;                      // how many are kept, the newest
  FinalCheckpoint final = FinalCheckpoint::automatic;

  bool has_interval() const { return every_steps || every_time || every_wall; }
  bool at_end() const {  // does a run that is not stopped early write one?
    return write && (final == FinalCheckpoint::on || (final == FinalCheckpoint::automatic && has_interval()));
  }
};

struct OutputConfig : OutputTimes {
  std::string directory;     // default: runs/<name of the deck>
  bool overwrite = false;    // replace the run that the directory holds
  bool snapshots = true;     // false: no field is written at all
  bool asynchronous = true;  // files of the field are written while sweeps continue
  bool history = true;
  std::optional<std::int64_t> diagnostics;            // steps, sweeps or cycles; none: no diagnostics
  HistogramConfig histogram;                          // a part of the diagnostics
  OutputPrecision precision = OutputPrecision::same;  // of files of cells but checkpoints
  int compression = 0;  // deflate level of all files of cells except checkpoints; 0: none
  bool xdmf = true;     // write an .xmf next to each .hdf.series; always for files one cell thick
  std::vector<SliceConfig> slices;
  RegionConfig region;
  CoarseConfig coarse;
  ProbesConfig probes;
  CheckpointConfig checkpoint;
  OnError on_error = OnError::stop;  // if a file cannot be written; a failed checkpoint always stops the run
};

enum class ExactSolution { none, decaying_mode, steady_profile, manufactured, formula, slab_series };
ISOTHERM_WORDS(ExactSolution, "none", "decaying_mode", "steady_profile", "manufactured", "formula",
               "slab_series");
struct VerifyConfig {
  ExactSolution solution = ExactSolution::none;
  std::array<int, 3> modes{1, 1, 1};  // half waves per axis, whole waves where periodic; 0: constant
  double amplitude = 1;               // K
  std::optional<Expression> formula;  // of x, y, z, t
  std::optional<double> tolerance;    // K; a run with a larger maximum error fails
  std::vector<std::int64_t> order;    // ascending series of runs: cells along x, or the first axis of several
  double expected_order = 2;
  double order_tolerance = 0.02;
};

// s. Limits of a step by the cells of a body of several materials; infinite where no cell limits it.
struct StepLimits {
  static constexpr double none = std::numeric_limits<double>::infinity();
  double stable = none, monotone = none;  // stable_dt(), monotone_dt()
  double alone = none;  // of a cell among its own class: stable_dt() if no two cells exchange heat
};

// A floor plan becomes one source per block. For each source: its entry in the deck's list, and the name of
// its block. An empty list: the deck has no sources.
struct SourceOfDeck {
  std::size_t entry;
  std::string block{};
};
using SourcesOfDeck = std::vector<SourceOfDeck>;
// "sources.3.power" as the deck numbers it: "sources.0.power (block core1)".
std::string deck_key(const std::string& key, const SourcesOfDeck& sources);

struct Config {
  std::string name;  // of the deck's file, without its folder and extension
  GridConfig grid;
  MaterialConfig material;               // for a body of one material
  std::vector<NamedMaterial> materials;  // for a body that may have several
  std::vector<MaterialRegion> regions;
  std::vector<ContactConfig> contacts;
  Precision precision = Precision::fp64;
  std::array<BoundaryConfig, face_count> boundaries;  // by Face
  std::vector<RegionValue> initial;
  std::vector<RegionValue> sources;
  ProblemConfig problem;
  SolverConfig solver;
  ParallelConfig parallel;
  OutputConfig output;
  VerifyConfig verify;
  // For a transient problem with several materials; regions alone do not determine it: set_step_limits().
  std::optional<StepLimits> step_limits;
  // For a steady problem with several materials: lowest_eigenvalue() (physics/operator.hpp).
  std::optional<double> lowest_eigenvalue;

  // The position of a key: "deck.yaml:12:8: problem.dt" or "argument 3: problem.dt". A key that the deck does
  // not set has the position of its section. For checks after the reader.
  std::string at(const std::string& key) const;
  std::string file;                     // the deck's path
  std::map<std::string, Place> places;  // of its keys; "" is the deck
  SourcesOfDeck sources_of_deck;
  std::map<std::string, std::string> data_files;  // by the keys that name them: datasets and tables
  std::vector<std::string> warnings;              // a line each, placed like errors
};

// Derived quantities that every later folder needs in the same form. Of a body of several materials
// diffusivity, conductivity and heat capacity are those of the first class (config/materials.hpp).
// Of a grid whose cells differ (config/grid_axes.hpp) spacing and volume are those of its first cell.
Vector3 spacing(const Config& config);                  // m
double cell_volume(const Config& config);               // m^3
double diffusivity(const Config& config);               // m^2/s; steady problems without a material: 1
double conductivity(const Config& config);              // W/(m K); 1 where nothing needs it
double volumetric_heat_capacity(const Config& config);  // rho c, J/(m^3 K)
bool has_heat_capacity(const Config& config);           // does the deck give rho c?
bool has_conductivity(const Config& config);            // does it give k?
double lowest_temperature(const Config& config);        // K; -infinity for exact solutions (differences)
bool mean_is_free(const Config& config);  // steady, and nothing fixes the mean: T + constant is a solution
int ghost_layers(const Config& config);   // layers of ghosts that fields have
// s: 1 / (2 alpha (1/hx^2 + 1/hy^2 + 1/hz^2)); for several materials the least of all cells, by step_limits.
double stable_dt(const Config& config);
// Is the problem transient, with method rkl, implicit, or either of them (solver/method.hpp)?
bool is_rkl(const Config& config);
bool is_implicit(const Config& config);
bool takes_long_steps(const Config& config);

// The ghost beyond a boundary is a T + slope * value, `value` being the deck's Tw, g or Ta.
//
//   boundary                                 a                      slope * value
//   temperature Tw (Dirichlet)              -1                      2 Tw
//   flux g into the domain (Neumann)         1                      g h / k
//   convection H, Ta (Robin)    (2k/h - H)/(2k/h + H)               2 H Ta / (2k/h + H)
//
// Cell-centred: the boundary lies half way between the last cell and its ghost (LeVeque 2007, section 2.12).
// For several laws on a face, patches and varying coefficients see config/boundary_laws.hpp. If `a` varies
// over a face, boundary_law() returns the strongest law that a cell of the face may have.
struct BoundaryLaw {
  double a = 0;      // dimensionless
  double slope = 0;  // K per unit of the value
};
BoundaryLaw boundary_law(const Config& config, Face face);  // not for periodic faces
BoundaryLaw boundary_law(const Config& config, Face face, double conductivity);

// s. The largest explicit step that keeps the maximum principle: no cell passes beyond its neighbours and the
// temperatures outside. It is the least rho c / sum of g_f (1 - a_f) over all cells, g_f = k/h^2, a_f = 0
// between cells: with it the weight of a cell in its own next temperature is not negative. At most
// stable_dt(), and less where a boundary holds the temperature or exchanges heat. For several materials it
// comes from step_limits.
double monotone_dt(const Config& config);

// For rkl. The longest step of so many stages, s, with a margin of 5 % (Meyer, Balsara and Aslam, J. Comput.
// Phys. 257, 2014, equation 17); the fewest stages, a multiple of four, for a step of dt; and the most that
// the precision allows: values grow within a step, and their rounding errors with them.
double rkl_limit(const Config& config, int stages);
int rkl_stages(const Config& config, double dt);
int most_rkl_stages(const Config& config);

struct TimePlan {
  double dt;  // s; divides end_time into whole steps. With dt: auto it also divides every_time of the outputs
              // (with euler only if that takes at most a quarter more steps)
  std::int64_t steps;
};
TimePlan time_plan(const Config& config);  // transient only
// The start times, s, of `count` steps of a transient problem, evenly spread from the first on.
std::vector<double> step_starts(const Config& config, std::int64_t count);
// The times at which step tables of boundaries and sources jump, s, ascending.
std::vector<double> jump_times(const Config& config);
// Warnings about values of time that the steps of a transient problem resolve only roughly, and about output
// times that require many more steps.
std::vector<std::string> time_warnings(const Config& config);
// s. The Euler step in which residuals and heat flows are measured: for euler the step itself; for methods
// whose steps are longer than one sweep can take, a stable step.
double euler_dt(const Config& config);

}  // namespace isotherm
