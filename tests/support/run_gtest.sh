#!/usr/bin/env bash
# run_gtest.sh COMMAND...: a GoogleTest program, perhaps behind mpirun. Its exit code, or 77 when nothing failed and
# nothing ran: every case was skipped (no device), or none exists. CTest shows 77 as a skipped test; a pattern in the
# output would not do, for it would turn one skipped case into a skipped program, failures and all.
set -euo pipefail
export GTEST_COLOR=no  # mpirun gives its ranks a terminal, and colours would hide the line that is looked for
output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$@" 2>&1 | tee "$output"
grep -q '^\[  PASSED  \] [1-9]' "$output" || exit 77
