#!/usr/bin/env bash
# Runs all tests three times in a row, together with four busy loops per processor: no test may depend on the load.
#   tests/busy.sh [ctest arguments]      e.g. tests/busy.sh -R signals
set -euo pipefail
top=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")

loops=()
trap 'kill "${loops[@]}"' EXIT
for ((i = 4 * $(nproc); i > 0; --i)); do
  while :; do :; done &
  loops+=($!)
done
"$top/test.sh" --repeat until-fail:3 "$@"
