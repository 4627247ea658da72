#!/usr/bin/env bash
# Builds the fuzz targets and runs each of them from the seeds in the tree.
#   tests/fuzz/run.sh BUILD_FOLDER [RUNS]      RUNS: executions per target, the same each time; or a time (600s), random
# Exit code 77 if there is no clang++ with libFuzzer. An input that makes a target fail is stored as
# BUILD_FOLDER/crash-*; to repeat the failure: BUILD_FOLDER/fuzz_deck BUILD_FOLDER/crash-...
set -euo pipefail
(($# >= 1)) || { sed -n '2,5p' "$0"; exit 2; }
source=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
build=$(mkdir -p "$1" && cd "$1" && pwd)
runs=${2:-2000}

clang=$(command -v clang++-14 || command -v clang++ || true)
works() {
  local probe
  probe=$(mktemp -d)
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$probe/probe.cpp"
  "$clang" -fsanitize=fuzzer,address "$probe/probe.cpp" -o "$probe/probe" 2>/dev/null
  local code=$?
  rm -r "$probe"
  return $code
}
if [[ ! $clang ]] || ! works; then
  echo "skipped: no clang++ with libFuzzer (Debian, Ubuntu: apt install clang-14 libclang-rt-14-dev)"
  exit 77
fi

log=$build/build.log
if ! { cmake -S "$source" -B "$build" -D CMAKE_CXX_COMPILER="$clang" && cmake --build "$build" --parallel 2; } \
  >"$log" 2>&1; then
  tail -n 40 "$log"
  exit 1
fi
# Leaks are not detected: MPI does not free all its memory.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

# Is the innermost function of isotherm or HDF5 in the stack trace one of HDF5? The library is known to crash on some
# damaged files, whatever isotherm checks before.
crashed_in_hdf5() {
  [[ $(grep -m 1 -oE '^ *#[0-9]+ .*(libhdf5|isotherm::)' "$1") == *libhdf5 ]]
}

# fuzz TARGET SEEDS...: counts a crash inside HDF5, and continues with the next random seed.
fuzz() {
  local target=$1 start executions=0 crashes=0 code limit
  shift
  [[ $runs == *s ]] || rm -rf "$build/corpus/$target"  # earlier findings would change its inputs
  mkdir -p "$build/corpus/$target"
  for start in $(seq 1 "${starts[$target]:-1}"); do
    limit=(-runs="$runs" -seed="$start")
    [[ $runs != *s ]] || limit=(-max_total_time="${runs%s}")
    code=0
    "$build/fuzz_$target" -print_final_stats=1 -timeout=10 -rss_limit_mb=2048 -max_len=16384 "${limit[@]}" \
      -artifact_prefix="$build/" "$build/corpus/$target" "$@" >"$build/$target.log" 2>&1 || code=$?
    executions=$((executions + $(sed -n 's/.*number_of_executed_units: *//p' "$build/$target.log")))
    if ((code != 0)); then
      if ! crashed_in_hdf5 "$build/$target.log"; then
        tail -n 60 "$build/$target.log"
        echo "fuzz_$target failed"
        return 1
      fi
      crashes=$((crashes + 1))
    fi
  done
  echo "fuzz_$target: $executions executions$( ((crashes == 0)) || echo ", $crashes of $start ended by a crash inside HDF5")"
}

declare -A starts=([dataset]=3 [checkpoint]=3)
# Two at a time: the slowest target, and the others one after another.
{
  fuzz deck "$source/seeds/deck" "$source/../../inputs"
  fuzz override "$source/seeds/override"
  fuzz formula "$source/seeds/formula"
  fuzz dataset "$source/seeds/dataset"
} &
others=$!
fuzz checkpoint "$source/seeds/checkpoint" &
slowest=$!
code=0
wait "$others" || code=1
wait "$slowest" || code=1
exit "$code"
