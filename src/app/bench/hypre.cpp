#include <HYPRE.h>
#include <HYPRE_struct_ls.h>
#include <dlfcn.h>

#include <array>
#include <vector>

#include "app/bench/bench.hpp"
#include "core/error.hpp"
#include "core/mpi_native.hpp"

namespace isotherm {
namespace {

using Corner = std::array<HYPRE_Int, 3>;

// Loaded with all that it needs when it is first asked for: other runs do without it. Null: it is gone.
void* library() {
  static void* const handle = dlopen(ISOTHERM_HYPRE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return handle;
}

template <class Function>
Function loaded(const char* name) {
  return reinterpret_cast<Function>(dlsym(library(), name));
}
#define HYPRE(name) loaded<decltype(&HYPRE_##name)>("HYPRE_" #name)

// What hypre makes by one call and destroys by another.
template <class Object>
struct Owner {
  HYPRE_Int (*destroy)(Object);
  Object object = nullptr;
  explicit Owner(HYPRE_Int (*destroyer)(Object)) : destroy(destroyer) {}
  Owner& operator=(Owner&&) = delete;
  ~Owner() { destroy(object); }
};

// Errors are flags of the library that stay.
void check(const char* what) {
  if (HYPRE(GetError)() != 0) throw Error(ExitCode::internal, std::string("bench: hypre failed in ") + what);
}

// Of a cell the diagonal and its six neighbours. Beyond a boundary at temperature 0 the neighbour is -T.
std::vector<double> rows_of(Int3 cells, Box block) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(7 * block.cells()));
  for (Index z = block.lo.z; z < block.hi.z; ++z)
    for (Index y = block.lo.y; y < block.hi.y; ++y)
      for (Index x = block.lo.x; x < block.hi.x; ++x) {
        const Int3 at{x, y, z};
        const std::size_t diagonal = values.size();
        values.push_back(0);
        for (int axis = 0; axis < 3; ++axis)
          for (const bool outside : {at[axis] == 0, at[axis] == cells[axis] - 1}) {
            values[diagonal] += outside ? 2 : 1;
            values.push_back(outside ? 0 : -1);
          }
      }
  return values;
}

void fill_matrix(HYPRE_StructMatrix matrix, Int3 cells, Box block, Corner lo, Corner hi) {
  std::array<HYPRE_Int, 7> entries{0, 1, 2, 3, 4, 5, 6};
  HYPRE(StructMatrixInitialize)(matrix);
  std::vector<double> rows = rows_of(cells, block);
  HYPRE(StructMatrixSetBoxValues)(matrix, lo.data(), hi.data(), 7, entries.data(), rows.data());
  HYPRE(StructMatrixAssemble)(matrix);
}

void fill_vector(HYPRE_StructVector vector, double value) {
  HYPRE(StructVectorInitialize)(vector);
  HYPRE(StructVectorSetConstantValues)(vector, value);
  HYPRE(StructVectorAssemble)(vector);
}

// The settings that were fastest of six (coarse operators by the stencil or by Galerkin; Jacobi or red-black;
// smoothing skipped where an axis was not coarsened, or not): 256^3 cells on two ranks.
void set_up(HYPRE_StructSolver pfmg) {
  HYPRE(StructPFMGSetMaxIter)(pfmg, 1);
  HYPRE(StructPFMGSetTol)(pfmg, 0);
  HYPRE(StructPFMGSetZeroGuess)(pfmg);
  HYPRE(StructPFMGSetRAPType)(pfmg, 1);
  HYPRE(StructPFMGSetRelaxType)(pfmg, 2);
  HYPRE(StructPFMGSetNumPreRelax)(pfmg, 1);
  HYPRE(StructPFMGSetNumPostRelax)(pfmg, 1);
  HYPRE(StructPFMGSetSkipRelax)(pfmg, 1);
}

}  // namespace

bool has_hypre() {
  return library() != nullptr;
}

HypreSolve solve_by_hypre(const Communicator& world, Int3 cells, Box block, double tolerance) {
  constexpr HYPRE_Int most_cycles = 100;
  const MPI_Comm comm = world.native().comm;
  const auto corner = [](Int3 at) {
    return Corner{static_cast<HYPRE_Int>(at.x), static_cast<HYPRE_Int>(at.y), static_cast<HYPRE_Int>(at.z)};
  };
  Corner lo = corner(block.lo), hi = corner(block.hi - Int3{1, 1, 1});
  HYPRE(Init)();
  Owner grid(HYPRE(StructGridDestroy));
  HYPRE(StructGridCreate)(comm, 3, &grid.object);
  HYPRE(StructGridSetExtents)(grid.object, lo.data(), hi.data());
  HYPRE(StructGridAssemble)(grid.object);
  Owner stencil(HYPRE(StructStencilDestroy));
  HYPRE(StructStencilCreate)(3, 7, &stencil.object);
  Corner offsets[7] = {{0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  for (int i = 0; i < 7; ++i) HYPRE(StructStencilSetElement)(stencil.object, i, offsets[i].data());
  Owner matrix(HYPRE(StructMatrixDestroy));
  HYPRE(StructMatrixCreate)(comm, grid.object, stencil.object, &matrix.object);
  fill_matrix(matrix.object, cells, block, lo, hi);
  Owner source(HYPRE(StructVectorDestroy)), field(HYPRE(StructVectorDestroy));
  HYPRE(StructVectorCreate)(comm, grid.object, &source.object);
  fill_vector(source.object, 1);
  HYPRE(StructVectorCreate)(comm, grid.object, &field.object);
  fill_vector(field.object, 0);
  check("its set-up of the problem");

  Owner pfmg(HYPRE(StructPFMGDestroy));
  HYPRE(StructPFMGCreate)(comm, &pfmg.object);
  set_up(pfmg.object);
  Owner cg(HYPRE(StructPCGDestroy));
  HYPRE(StructPCGCreate)(comm, &cg.object);
  HYPRE(StructPCGSetTol)(cg.object, tolerance);
  HYPRE(StructPCGSetTwoNorm)(cg.object, 1);
  HYPRE(StructPCGSetMaxIter)(cg.object, most_cycles);
  HYPRE(StructPCGSetPrecond)(cg.object, HYPRE(StructPFMGSolve), HYPRE(StructPFMGSetup), pfmg.object);
  HYPRE(StructPCGSetup)(cg.object, matrix.object, source.object, field.object);
  check("its set-up of the solver");
  world.barrier();
  const Timer timer;
  HYPRE(StructPCGSolve)(cg.object, matrix.object, source.object, field.object);
  HypreSolve solve{timer.seconds(), 0};
  check("the solution");
  HYPRE_Int cycles = 0;
  HYPRE(StructPCGGetNumIterations)(cg.object, &cycles);
  solve.cycles = static_cast<int>(cycles);
  return solve;
}

}  // namespace isotherm
