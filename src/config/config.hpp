// The whole deck as plain structs: what the user asked, with defaults. SI units, kelvin.
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
#include "core/box.hpp"
#include "core/enum_words.hpp"

namespace isotherm {

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
  Int3 cells;                      // required, but of axes with zones
  std::optional<Vector3> lengths;  // m; exactly one of lengths and spacing
  std::optional<Vector3> spacing;  // m; along an axis with zones that of the first
  // From the lower end; neighbours differ in size. Empty: all cells of the axis are alike.
  std::array<std::vector<SpacingZone>, 3> zones{};
  Vector3 origin{0, 0, 0};  // m, the corner of the box
  bool is_sample = false;   // of a finer grid, whose datasets regions have

  bool is_graded(int axis) const { return !zones[axis].empty(); }
  bool is_graded() const { return is_graded(0) || is_graded(1) || is_graded(2); }
};

struct MaterialConfig {                 // what the problem needs of it is checked
  std::optional<double> conductivity;   // W/(m K)
  std::optional<double> density;        // kg/m^3
  std::optional<double> heat_capacity;  // J/(kg K)
  std::optional<double> diffusivity;    // m^2/s; instead of density and heat_capacity
  std::string default_material;         // of `materials`: that of cells which no region covers
};

struct NamedMaterial {  // an entry of materials
  std::string name;
  std::optional<Vector3> conductivity{};         // W/(m K), along x, y, z; of a material
  std::optional<double> density, heat_capacity;  // as of MaterialConfig
  std::optional<double> ambient, coefficient;    // K, W/(m^2 K); of a void, which is no part of the body

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
  LawConfig rest{};                    // around a patch
  std::vector<BoundaryConfig> laws{};  // of a list: they add up, and nothing else is set
};

enum class Shape { constant, box, sphere, cylinder, gaussian, double_ellipsoid, formula, dataset, exact };
ISOTHERM_WORDS(Shape, "constant", "box", "sphere", "cylinder", "gaussian", "double_ellipsoid", "formula",
               "dataset", "exact");
enum class AxisDirection { x, minus_x, y, minus_y, z, minus_z };
ISOTHERM_WORDS(AxisDirection, "x", "-x", "y", "-y", "z", "-z");
enum class RegionMode { set, add };
ISOTHERM_WORDS(RegionMode, "set", "add");
struct RegionValue {  // one entry of initial (value in K) or sources (value in W/m^3, or power)
  Shape shape = Shape::constant;
  RegionMode mode = RegionMode::set;
  std::optional<double> value;      // constant, box, sphere, cylinder; gaussian: the peak
  std::optional<Expression> power;  // sources, instead of value: W of the whole shape, at a time
  Vector3 from{}, to{};             // box: two corners, m; at t = 0
  Vector3 centre{};                 // sphere, cylinder, gaussian, double_ellipsoid, m; at t = 0
  std::array<Expression, 3> from_at{}, to_at{}, centre_at{};  // sources: the same, m, at a time
  double radius = 0;                                          // sphere, cylinder, m
  int axis = 2;                                               // cylinder: 0, 1, 2
  double length = 0;                                          // cylinder: m along its axis, centred
  double width = 0;                                           // gaussian: standard deviation, m
  // double_ellipsoid: where its density is exp(-3) of that at the centre, m; its heat ahead of the centre
  double front = 0, rear = 0, half_width = 0, depth = 0;
  std::optional<double> front_share;  // none: that without a jump at the centre
  AxisDirection travel = AxisDirection::x, into = AxisDirection::minus_z;
  Expression formula;                    // formula: of x, y, z; of sources and t
  std::string file;                      // dataset: HDF5 file and ...
  std::string dataset = "/temperature";  // ... the path of a (nz, ny, nx) dataset in it

  bool moves() const {
    const auto any = [](const std::array<Expression, 3>& place) {
      return std::ranges::any_of(place, [](const Expression& along) { return along.uses('t'); });
    };
    return any(from_at) || any(to_at) || any(centre_at);
  }
  bool uses_time() const {
    return (power && power->uses('t')) || moves() || (shape == Shape::formula && formula.uses('t'));
  }
  // A source that is computed where the field lives: physics/varying_sources.hpp.
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
  std::string material;             // box, sphere, cylinder; dataset: of numbers that map does not have
  RegionValue place;                // their place and size; axis: that of layers too; dataset: file and path
  std::vector<LayerConfig> layers;  // from the lower face of the box upwards
  std::vector<MappedId> map;  // dataset: of its numbers; without `material` others leave a cell as it was
};

enum class ProblemKind { transient, steady };
ISOTHERM_WORDS(ProblemKind, "transient", "steady");
enum class Norm { max, l2, l1 };
ISOTHERM_WORDS(Norm, "max", "l2", "l1");
enum class Criterion { absolute, relative, error };  // error: of the field, as the residual bounds it
ISOTHERM_WORDS(Criterion, "absolute", "relative", "error");
enum class Check { immediate, asynchronous };
ISOTHERM_WORDS(Check, "immediate", "asynchronous");
enum class MethodName { jacobi, chebyshev, multigrid, euler, rkl, implicit };  // from euler on of transients
ISOTHERM_WORDS(MethodName, "jacobi", "chebyshev", "multigrid", "euler", "rkl", "implicit");
enum class Scheme { backward_euler, sdirk2 };
ISOTHERM_WORDS(Scheme, "backward_euler", "sdirk2");
enum class Acceleration { none, cg };
ISOTHERM_WORDS(Acceleration, "none", "cg");
struct ProblemConfig {
  ProblemKind kind = ProblemKind::transient;
  MethodName method = MethodName::euler;
  Acceleration accelerate = Acceleration::none;  // of multigrid
  // transient
  std::optional<double> dt;  // s; none: dt_fraction of the limit, of euler at most monotone_dt()
  double dt_fraction = 0.9;
  std::optional<double> end_time;  // s; exactly one of end_time and steps
  std::optional<std::int64_t> steps;
  Scheme scheme = Scheme::sdirk2;  // of implicit
  bool allow_unstable = false;     // for tests of divergence
  // steady
  std::optional<std::int64_t> cycle;  // sweeps; none: chosen from grid and boundaries (solver/method.hpp)
  double weight = 0.99;
  std::optional<double> error;  // K; short for criterion error and this tolerance
  Norm norm = Norm::max;
  Criterion criterion = Criterion::relative;
  std::int64_t max_sweeps = 3000000;       // 256^3 cells that one face holds need 2.2 million
  std::optional<std::int64_t> max_cycles;  // instead of max_sweeps
  std::optional<double> mean_temperature;  // K; fixes the mean where no boundary does
  // Not of the deck, s: of the grids on which an implicit step is solved. Their operator is T/implicit_dt
  // less that of a steady problem, with the coefficients of boundaries at implicit_time.
  std::optional<double> implicit_dt;
  double implicit_time = 0;
  // both
  // Steady: absolute, error: K; relative: to the first residual. Transient: K, of a part of a step; none:
  // steps are of one length.
  std::optional<double> tolerance;
  static constexpr double steady_tolerance = 1e-6;  // unasked
  std::int64_t check_interval = 100;  // sweeps or cycles from one residual, and check for NaN, to the next
  Check check = Check::immediate;     // asynchronous: a residual is looked at when next something is due
};

enum class GraphChoice { automatic, on, off };
struct SolverConfig {
  std::string kernel = "auto";
  std::string tile = "auto";  // launch configuration of the kernel
  std::string reduction = "auto";
  std::string histogram = "auto";
  std::string tuning_file;        // what `auto` has found, by device and shape; empty: nowhere
  double tuning_budget = 1;       // s that the autotuner may measure for; 0: defaults are taken
  std::optional<int> halo_width;  // layers of ghosts of an exchange, for as many sweeps; none: the fastest
  std::optional<int> time_block;  // sweeps of a launch, at most; none: the fastest
  // Not of the deck: layers that fields have where halo_width is open, the most that the autotuner may try.
  int ghosts = 1;
  GraphChoice cuda_graph = GraphChoice::automatic;  // queue the sweeps between checks as a whole
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
  double probe_timeout = 10;       // s, of a transport that is tried
};

struct HistogramConfig {
  int bins = 0;                   // 0: none
  std::optional<Interval> range;  // K; none: what is known of the run before its first sweep
};

// When something is written; the last state always is. With neither, it alone.
struct OutputTimes {
  std::optional<std::int64_t> every_steps;
  std::optional<double> every_time;  // s, transient only
};

struct SliceConfig {                 // a plane of cells
  std::string name;                  // of its files; default: axis and cell, "z12"
  int axis = 2;                      // normal to it: 0, 1, 2
  std::optional<double> position;    // m; exactly one of position and cell
  std::optional<std::int64_t> cell;  // index along the axis
  OutputTimes times;
};

struct RegionConfig {                         // a box of cells: none, or one of the two pairs
  std::optional<Vector3> from, to;            // m, two corners
  std::optional<Int3> first_cell, last_cell;  // both in it
  OutputTimes times;
};

struct CoarseConfig {
  std::optional<Int3> factor;  // cells along x, y and z that make one; none: no coarse field
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
  bool write = true;                 // false: none at all, and what is stopped is lost
  std::optional<double> every_wall;  // s of wall time
  int keep = 2;                      // the newest that stay
  FinalCheckpoint final = FinalCheckpoint::automatic;

  bool has_interval() const { return every_steps || every_time || every_wall; }
  bool at_end() const {  // of a run that comes to its end
    return write && (final == FinalCheckpoint::on || (final == FinalCheckpoint::automatic && has_interval()));
  }
};

struct OutputConfig : OutputTimes {
  std::string directory;     // default: runs/<name of the deck>
  bool overwrite = false;    // replace the run that the directory holds
  bool snapshots = true;     // false: no field is written at all
  bool asynchronous = true;  // files of the field are written while sweeps go on
  bool history = true;
  std::optional<std::int64_t> diagnostics;            // sweeps; none: no diagnostics
  HistogramConfig histogram;                          // a part of the diagnostics
  OutputPrecision precision = OutputPrecision::same;  // of every file of cells
  int compression = 0;  // level of deflate of every file of cells but checkpoints; 0: none
  bool xdmf = true;     // an .xmf beside every .hdf.series; always where files are one cell thick
  std::vector<SliceConfig> slices;
  RegionConfig region;
  CoarseConfig coarse;
  ProbesConfig probes;
  CheckpointConfig checkpoint;
  OnError on_error = OnError::stop;  // what a file that cannot be written does to the run; never a checkpoint
};

enum class ExactSolution { none, decaying_mode, steady_profile, manufactured, formula, slab_series };
ISOTHERM_WORDS(ExactSolution, "none", "decaying_mode", "steady_profile", "manufactured", "formula",
               "slab_series");
struct VerifyConfig {
  ExactSolution solution = ExactSolution::none;
  std::array<int, 3> modes{1, 1, 1};  // half waves an axis, whole ones where it is periodic; 0: constant
  double amplitude = 1;               // K
  std::optional<Expression> formula;  // of x, y, z, t
  std::optional<double> tolerance;    // K, of the max error; beyond it the run fails
  std::vector<std::int64_t> order;    // cells along x, or the first axis of several, of a series; ascending
  double expected_order = 2;
  double order_tolerance = 0.02;
};

// s. Of the cells that a body of several materials has; infinite where none bounds a step.
struct StepLimits {
  static constexpr double none = std::numeric_limits<double>::infinity();
  double stable = none, monotone = none;  // stable_dt(), monotone_dt()
  double alone = none;  // of cells among their own class: stable_dt() where no two exchange heat
};

// A floor plan stands for a source of each of its blocks: by number of the source, the entry of the deck's
// list and the block's name. Empty: there is no list of sources.
struct SourceOfDeck {
  std::size_t entry;
  std::string block{};
};
using SourcesOfDeck = std::vector<SourceOfDeck>;
// "sources.3.power" as the deck has it: "sources.0.power (block core1)".
std::string deck_key(const std::string& key, const SourcesOfDeck& sources);

struct Config {
  std::string name;  // of the deck's file, without its folder and extension
  GridConfig grid;
  MaterialConfig material;               // of a body of one material
  std::vector<NamedMaterial> materials;  // of one that may have several
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
  // Of a transient problem with several materials, which regions alone do not tell: set_step_limits().
  std::optional<StepLimits> step_limits;
  // Of a steady one: lowest_eigenvalue() of its cells (physics/slowest_mode.hpp).
  std::optional<double> lowest_eigenvalue;

  // Where a key stands: "deck.yaml:12:8: problem.dt" or "argument 3: problem.dt"; a key that the deck leaves
  // to its default is placed at its section. For checks that come after the reader.
  std::string at(const std::string& key) const;
  SourcesOfDeck sources_of_deck;
  std::map<std::string, std::string> places;  // key -> "deck.yaml:12:8"; "" is the deck
  std::vector<std::string> warnings;          // a line each, placed like errors
};

// Derived quantities that every later folder needs in the same form. Of a body of several materials
// diffusivity, conductivity and heat capacity are those of the first class (config/materials.hpp).
// Of a grid whose cells differ (config/grid_axes.hpp) spacing and volume are those of its first cell.
Vector3 spacing(const Config& config);                  // m
double cell_volume(const Config& config);               // m^3
double diffusivity(const Config& config);               // m^2/s; steady problems without a material: 1
double conductivity(const Config& config);              // W/(m K); 1 where nothing needs it
double volumetric_heat_capacity(const Config& config);  // rho c, J/(m^3 K)
bool knows_heat_capacity(const Config& config);         // does the deck say rho c?
bool knows_conductivity(const Config& config);          // does it say k?
double lowest_temperature(const Config& config);        // K; of exact solutions, perhaps differences, none
bool mean_is_free(const Config& config);  // steady, and no boundary fixes it: T + constant solves it as well
int ghost_layers(const Config& config);   // layers of ghosts that fields have
// s: 1 / (2 alpha (1/hx^2 + 1/hy^2 + 1/hz^2)); of several materials the least of all cells, by step_limits.
double stable_dt(const Config& config);
// Transient, by a method of solver/method.hpp: rkl, implicit, one of these two.
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
// Of several laws on a face, patches and coefficients that vary: config/boundary_laws.hpp. Where their `a` is
// no one number, the law is the strongest that a cell of the face may have.
struct BoundaryLaw {
  double a = 0;      // dimensionless
  double slope = 0;  // K per unit of the value
};
BoundaryLaw boundary_law(const Config& config, Face face);  // not for periodic faces
BoundaryLaw boundary_law(const Config& config, Face face, double conductivity);

// s. The largest explicit step that keeps the maximum principle: no cell passes beyond its neighbours and
// the temperatures outside. The least rho c / sum of g_f (1 - a_f) over all cells, g_f = k/h^2, a_f = 0
// between cells: with it the weight of a cell in its own next temperature is not negative. At most
// stable_dt(), and less where a boundary holds the temperature or exchanges heat. Of several materials by
// step_limits.
double monotone_dt(const Config& config);

// Of rkl. The longest step of so many stages, s, with 5 % to spare (Meyer, Balsara and Aslam, J. Comput.
// Phys. 257, 2014, equation 17); the fewest stages, a multiple of four, that a step takes; and the most that
// the precision allows: within a step values grow, and with them what they lose to rounding.
double rkl_limit(const Config& config, int stages);
int rkl_stages(const Config& config, double dt);
int most_rkl_stages(const Config& config);

struct TimePlan {
  double dt;  // s; divides end_time into whole steps and, where it follows from dt: auto, every_time of the
              // outputs too, of euler where a quarter more steps allow it
  std::int64_t steps;
};
TimePlan time_plan(const Config& config);  // transient only
// s, in order: where values of boundaries and sources jump, of tables in steps.
std::vector<double> jump_times(const Config& config);
// s. The Euler step by which residuals and flows of heat are measured: of euler the step itself, of
// methods whose steps are longer than a sweep can take a stable one.
double euler_dt(const Config& config);

}  // namespace isotherm
