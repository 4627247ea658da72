#include "app/bench/hypre.hpp"

#include <HYPRE.h>
#include <HYPRE_struct_ls.h>
#include <dlfcn.h>

#include <array>
#include <vector>

#include "core/error.hpp"
#include "core/mpi_native.hpp"
#include "core/timer.hpp"

namespace isotherm {
namespace {

using Corner = std::array<HYPRE_Int, 3>;

// The library and all that it needs are loaded when they are first asked for: other runs do without them.
#define ISOTHERM_HYPRE_FUNCTIONS(X)                                                                      \
  X(Init)                                                                                                \
  X(GetError) X(StructGridCreate) X(StructGridSetExtents) X(StructGridAssemble) X(StructGridDestroy)     \
      X(StructStencilCreate) X(StructStencilSetElement) X(StructStencilDestroy) X(StructMatrixCreate)    \
          X(StructMatrixInitialize) X(StructMatrixSetBoxValues) X(StructMatrixAssemble)                  \
              X(StructMatrixDestroy) X(StructVectorCreate) X(StructVectorInitialize)                     \
                  X(StructVectorSetConstantValues) X(StructVectorAssemble) X(StructVectorDestroy)        \
                      X(StructPFMGCreate) X(StructPFMGSetMaxIter) X(StructPFMGSetTol)                    \
                          X(StructPFMGSetZeroGuess) X(StructPFMGSetRAPType) X(StructPFMGSetRelaxType)    \
                              X(StructPFMGSetNumPreRelax) X(StructPFMGSetNumPostRelax)                   \
                                  X(StructPFMGSetSkipRelax) X(StructPFMGSetup) X(StructPFMGSolve)        \
                                      X(StructPFMGDestroy) X(StructPCGCreate) X(StructPCGSetTol)         \
                                          X(StructPCGSetTwoNorm) X(StructPCGSetMaxIter)                  \
                                              X(StructPCGSetPrecond) X(StructPCGSetup) X(StructPCGSolve) \
                                                  X(StructPCGGetNumIterations) X(StructPCGDestroy)

struct Functions {
  bool complete = true;
#define ISOTHERM_DECLARE(name) decltype(&HYPRE_##name) name = nullptr;
  ISOTHERM_HYPRE_FUNCTIONS(ISOTHERM_DECLARE)

  Functions() {
    void* const library = dlopen(ISOTHERM_HYPRE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const auto find = [&]<class Function>(Function& function, const char* name) {
      if (library) function = reinterpret_cast<Function>(dlsym(library, name));
      complete = complete && function;
    };
#define ISOTHERM_FIND(name) find(name, "HYPRE_" #name);
    ISOTHERM_HYPRE_FUNCTIONS(ISOTHERM_FIND)
  }
};

const Functions& hypre() {
  static const Functions functions;
  return functions;
}

// What hypre makes by one call and destroys by another.
template <class Object, auto destroy>
struct Owner {
  Object object = nullptr;
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { (hypre().*destroy)(object); }
};
using Grid = Owner<HYPRE_StructGrid, &Functions::StructGridDestroy>;
using Stencil = Owner<HYPRE_StructStencil, &Functions::StructStencilDestroy>;
using Matrix = Owner<HYPRE_StructMatrix, &Functions::StructMatrixDestroy>;
using Vector = Owner<HYPRE_StructVector, &Functions::StructVectorDestroy>;
using Cg = Owner<HYPRE_StructSolver, &Functions::StructPCGDestroy>;
using Pfmg = Owner<HYPRE_StructSolver, &Functions::StructPFMGDestroy>;

// Errors are flags of the library that stay.
void check(const char* what) {
  if (hypre().GetError() != 0) throw Error(ExitCode::internal, std::string("bench: hypre failed in ") + what);
}

// Of a cell the diagonal and its six neighbours. Beyond a boundary at temperature 0 the neighbour is -T.
std::vector<double> rows_of(Int3 cells, Box block) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(7 * block.cells()));
  const std::array<double, 3> weight{static_cast<double>(cells.x * cells.x),
                                     static_cast<double>(cells.y * cells.y),
                                     static_cast<double>(cells.z * cells.z)};
  for (Index z = block.lo.z; z < block.hi.z; ++z)
    for (Index y = block.lo.y; y < block.hi.y; ++y)
      for (Index x = block.lo.x; x < block.hi.x; ++x) {
        const Int3 at{x, y, z};
        const std::size_t diagonal = values.size();
        values.push_back(0);
        for (int axis = 0; axis < 3; ++axis)
          for (const bool outside : {at[axis] == 0, at[axis] == cells[axis] - 1}) {
            values[diagonal] += (outside ? 2 : 1) * weight[static_cast<std::size_t>(axis)];
            values.push_back(outside ? 0 : -weight[static_cast<std::size_t>(axis)]);
          }
      }
  return values;
}

void fill_matrix(HYPRE_StructMatrix matrix, Int3 cells, Box block, Corner lo, Corner hi) {
  std::array<HYPRE_Int, 7> entries{0, 1, 2, 3, 4, 5, 6};
  hypre().StructMatrixInitialize(matrix);
  std::vector<double> rows = rows_of(cells, block);
  hypre().StructMatrixSetBoxValues(matrix, lo.data(), hi.data(), 7, entries.data(), rows.data());
  hypre().StructMatrixAssemble(matrix);
}

void fill_vector(HYPRE_StructVector vector, double value) {
  hypre().StructVectorInitialize(vector);
  hypre().StructVectorSetConstantValues(vector, value);
  hypre().StructVectorAssemble(vector);
}

// The settings that were fastest of six (coarse operators by the stencil or by Galerkin; Jacobi or red-black;
// smoothing skipped where an axis was not coarsened, or not): 256^3 cells on two ranks.
void set_up(HYPRE_StructSolver pfmg) {
  hypre().StructPFMGSetMaxIter(pfmg, 1);
  hypre().StructPFMGSetTol(pfmg, 0);
  hypre().StructPFMGSetZeroGuess(pfmg);
  hypre().StructPFMGSetRAPType(pfmg, 1);
  hypre().StructPFMGSetRelaxType(pfmg, 2);
  hypre().StructPFMGSetNumPreRelax(pfmg, 1);
  hypre().StructPFMGSetNumPostRelax(pfmg, 1);
  hypre().StructPFMGSetSkipRelax(pfmg, 1);
}

}  // namespace

bool has_hypre() {
  return hypre().complete;
}

HypreSolve solve_by_hypre(const Communicator& world, Int3 cells, Box block, double tolerance) {
  constexpr HYPRE_Int most_cycles = 100;
  const MPI_Comm comm = world.native().comm;
  const auto corner = [](Int3 at) {
    return Corner{static_cast<HYPRE_Int>(at.x), static_cast<HYPRE_Int>(at.y), static_cast<HYPRE_Int>(at.z)};
  };
  Corner lo = corner(block.lo), hi = corner(block.hi - Int3{1, 1, 1});
  hypre().Init();
  Grid grid;
  hypre().StructGridCreate(comm, 3, &grid.object);
  hypre().StructGridSetExtents(grid.object, lo.data(), hi.data());
  hypre().StructGridAssemble(grid.object);
  Stencil stencil;
  hypre().StructStencilCreate(3, 7, &stencil.object);
  Corner offsets[7] = {{0, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};
  for (int i = 0; i < 7; ++i) hypre().StructStencilSetElement(stencil.object, i, offsets[i].data());
  Matrix matrix;
  hypre().StructMatrixCreate(comm, grid.object, stencil.object, &matrix.object);
  fill_matrix(matrix.object, cells, block, lo, hi);
  Vector source, field;
  hypre().StructVectorCreate(comm, grid.object, &source.object);
  fill_vector(source.object, 1);
  hypre().StructVectorCreate(comm, grid.object, &field.object);
  fill_vector(field.object, 0);
  check("its set-up of the problem");

  Pfmg pfmg;
  hypre().StructPFMGCreate(comm, &pfmg.object);
  set_up(pfmg.object);
  Cg cg;
  hypre().StructPCGCreate(comm, &cg.object);
  hypre().StructPCGSetTol(cg.object, tolerance);
  hypre().StructPCGSetTwoNorm(cg.object, 1);
  hypre().StructPCGSetMaxIter(cg.object, most_cycles);
  hypre().StructPCGSetPrecond(cg.object, hypre().StructPFMGSolve, hypre().StructPFMGSetup, pfmg.object);
  hypre().StructPCGSetup(cg.object, matrix.object, source.object, field.object);
  check("its set-up of the solver");
  world.barrier();
  const Timer timer;
  hypre().StructPCGSolve(cg.object, matrix.object, source.object, field.object);
  HypreSolve solve{timer.seconds(), 0};
  check("the solution");
  HYPRE_Int cycles = 0;
  hypre().StructPCGGetNumIterations(cg.object, &cycles);
  solve.cycles = static_cast<int>(cycles);
  return solve;
}

}  // namespace isotherm
