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

// Loads hypre and its dependencies at the first call, so that other runs do not need it. Null: it is missing.
void* library() {
  static void* const handle = dlopen(ISOTHERM_HYPRE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return handle;
}

template <class Function>
Function loaded(const char* name) {
  return reinterpret_cast<Function>(dlsym(library(), name));
}
#define HYPRE(name) loaded<decltype(&HYPRE_##name)>("HYPRE_" #name)

// An object that hypre creates by one call and destroys by another.
template <class Object>
struct Owner {
  HYPRE_Int (*destroy)(Object);
  Object object = nullptr;
  explicit Owner(HYPRE_Int (*destroyer)(Object)) : destroy(destroyer) {}
  Owner& operator=(Owner&&) = delete;
  ~Owner() { destroy(object); }
};

// The error flags of hypre stay set until they are cleared.
void check(const char* what) {
  if (HYPRE(GetError)() != 0) throw Error(ExitCode::internal, std::string("bench: hypre failed in ") + what);
}

void fill_matrix(HYPRE_StructMatrix matrix, std::vector<double>& rows, Corner lo, Corner hi) {
  std::array<HYPRE_Int, 7> entries{0, 1, 2, 3, 4, 5, 6};
  HYPRE(StructMatrixInitialize)(matrix);
  HYPRE(StructMatrixSetBoxValues)(matrix, lo.data(), hi.data(), 7, entries.data(), rows.data());
  HYPRE(StructMatrixAssemble)(matrix);
}

void fill_vector(HYPRE_StructVector vector, std::vector<double>& values, Corner lo, Corner hi) {
  HYPRE(StructVectorInitialize)(vector);
  HYPRE(StructVectorSetBoxValues)(vector, lo.data(), hi.data(), values.data());
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

bool has_hypre() { return library() != nullptr; }

HypreSolve solve_by_hypre(const Communicator& world, Box block, Equations equations, double tolerance) {
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
  fill_matrix(matrix.object, equations.rows, lo, hi);
  Owner source(HYPRE(StructVectorDestroy)), field(HYPRE(StructVectorDestroy));
  HYPRE(StructVectorCreate)(comm, grid.object, &source.object);
  fill_vector(source.object, equations.sources, lo, hi);
  HYPRE(StructVectorCreate)(comm, grid.object, &field.object);
  std::vector<double> start(equations.sources.size());
  fill_vector(field.object, start, lo, hi);
  check("its set-up of the problem");

  Owner pfmg(HYPRE(StructPFMGDestroy));
  HYPRE(StructPFMGCreate)(comm, &pfmg.object);
  set_up(pfmg.object);
  Owner cg(HYPRE(StructPCGDestroy));
  HYPRE(StructPCGCreate)(comm, &cg.object);
  HYPRE(StructPCGSetTol)(cg.object, tolerance);
  HYPRE(StructPCGSetTwoNorm)(cg.object, 1);
  HYPRE(StructPCGSetMaxIter)(cg.object, 100);
  HYPRE(StructPCGSetPrecond)(cg.object, HYPRE(StructPFMGSolve), HYPRE(StructPFMGSetup), pfmg.object);
  HYPRE(StructPCGSetup)(cg.object, matrix.object, source.object, field.object);
  check("its set-up of the solver");
  world.barrier();
  const Timer timer;
  HYPRE(StructPCGSolve)(cg.object, matrix.object, source.object, field.object);
  HypreSolve solve{timer.seconds(), 0};
  HYPRE(ClearError)(HYPRE_ERROR_CONV);  // the residual shows it
  check("the solution");
  HYPRE_Int cycles = 0;
  HYPRE(StructPCGGetNumIterations)(cg.object, &cycles);
  solve.cycles = static_cast<int>(cycles);
  HYPRE(StructPCGGetFinalRelativeResidualNorm)(cg.object, &solve.relative_residual);
  return solve;
}

}  // namespace isotherm
