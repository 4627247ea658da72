// The last step of a fused norm: one block combines the partial results of all.
#include "kernels/production/tile_update.hpp"

namespace isotherm::cuda {
namespace {

constexpr int threads = 1024;

template <ReductionOp op>
__global__ void __launch_bounds__(threads) combine_updates(UpdateNorm norm, unsigned count) {
  const Combine<op> join;
  const double* partials = static_cast<const double*>(norm.scratch);
  double mine = 0;
  for (unsigned i = threadIdx.x; i < count; i += threads) mine = join(mine, partials[i]);
  mine = combine_block<threads>(mine, join);
  if (threadIdx.x == 0) *norm.result = norm.accumulate ? join(*norm.result, mine) : mine;
}

}  // namespace

void finish_norm(const UpdateNorm& norm, unsigned blocks, Stream stream) {
  if (!norm.result) return;
  with_norm_operation(norm.op, [&]<ReductionOp op>() {
    launch("join_updates", combine_updates<op>, {1, threads}, stream, norm, blocks);
  });
}

}  // namespace isotherm::cuda
