#!/usr/bin/env bash
# Installs what is missing, builds isotherm with its tests and runs them all.
#   ./test.sh [ctest arguments]      e.g. ./test.sh -L unit; exit code: the tests'
# What a machine lacks (a GPU, ParaView's pvpython) is skipped, and the skipped cases are listed at the end;
# ISOTHERM_TEST_EXTRAS=1 installs ParaView and libFuzzer too. More settings: cmake/setup.sh.
set -euo pipefail
program=test.sh
top=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source "$top/cmake/setup.sh"

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}"
  exit 0
fi
cd "$top"
packages=("${build_packages[@]}" "${plot_packages[@]}" "${test_packages[@]}")
if [[ ${ISOTHERM_TEST_EXTRAS:-} == 1 ]]; then
  packages+=("${large_test_packages[@]}")
fi
install_packages "${packages[@]}"
choose_preset
build_isotherm "$preset" all -D ISOTHERM_TESTS=ON -D ISOTHERM_HOST_KERNELS=ALL -D ISOTHERM_PYTHON="$python"

# Otherwise each mpirun searches for X displays on "localhost", for seconds if that name cannot be resolved.
export HWLOC_COMPONENTS=${HWLOC_COMPONENTS:--gl}

# Two slots more than processors: half of the tests mostly wait, for disks, timeouts or other programs.
code=0
ctest --preset "$preset" --output-on-failure --parallel "$(($(processors) + 2))" "$@" || code=$?

# CTest lists the tests that were skipped whole; skipped cases of the others are only in its log.
log=$top/build/$preset/Testing/Temporary/LastTest.log
if [[ -f $log ]]; then
  sed -n '/^SKIPPED \[/p' "$log"
  skipped=$(sed -n 's/^\[  SKIPPED \] \([A-Za-z0-9_/]*\.[A-Za-z0-9_/]*\).*/\1/p' "$log" | sort -u | wc -l)
  ((skipped == 0)) || echo "SKIPPED [$skipped] GoogleTest cases; the reasons are in $log"
fi
((code == 0)) || fail "$code" "tests failed (exit code $code of ctest); their log is $log"
