#!/usr/bin/env bash
# Makes the figures that docs/performance/ladders.md and docs/tuning-log quote: all kernels with all tiles, fused norms, boundaries,
# small grids, bandwidths, and whole runs with the benchmark of their kernel. One table per benchmark below, the numbers in JSON.
#   kernels/measure.sh ISOTHERM FOLDER [cuda|cpu] [SIZES]        (SIZES: 512,1024 on a GPU, 256,384 on a CPU)
set -euo pipefail
(($# >= 2)) || { sed -n '2,4p' "$0"; exit 2; }
isotherm=$(readlink -f "$1")
folder=$2
device=${3:-cuda}
sizes=${4:-$([[ $device == cuda ]] && echo 512,1024 || echo 256,384)}
inputs=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")/inputs
mkdir -p "$folder"

# bench NAME SUBJECT [OPTIONS...]: table to NAME.txt, samples to NAME.json; a kernel that is wrong ends the script.
bench() {
  local name=$1 subject=$2
  shift 2
  "$isotherm" bench "$subject" --device "$device" --json "$folder/$name.json" "$@" | tee "$folder/$name.txt"
}

"$isotherm" list >"$folder/list.txt"
bench tiles stencil --sizes "$sizes" --tiles all --seconds 0.3
bench ladder stencil --sizes "$sizes"
bench norm stencil --sizes "$sizes" --norm l2
bench boundaries stencil --sizes "$sizes" --boundaries
bench small stencil --sizes 64,96,128,192 --seconds 0.3
bench reductions reduction --sizes "$sizes"
bench bandwidth bandwidth --sizes "${sizes##*,}"

# The sweep loop of a steady run, checked every 100 sweeps, to be compared with the benchmark of its kernel. The kernel is named
# because the benchmark is of single sweeps: by default a run would fuse several.
kernel=$([[ $device == cuda ]] && echo tma_pipeline || echo openmp)
for cells in ${sizes//,/ }; do
  for precision in fp32 fp64; do
    "$isotherm" run "$inputs/openmp_speed.yaml" grid.cells="$cells" precision=$precision parallel.device="$device" \
      solver.kernel="$kernel" "problem={kind: steady, tolerance: 1e-30, max_sweeps: 500, check_interval: 100}" \
      output.directory="$folder/run_${cells}_$precision" output.overwrite=true >"$folder/run_${cells}_$precision.txt" ||
      (($? == 10)) # 10: the tolerance is out of reach, on purpose
    grep -E '^ *kernel|GPts/s|FOM' "$folder/run_${cells}_$precision.txt"
  done
done
