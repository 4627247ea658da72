#!/bin/bash
# Sourced by the job scripts beside it: series of runs, each in a folder of its own below $results.
#
#   strong DECK RANKS ...   the deck's grid on each of these rank counts; all must end with one fingerprint
#   weak DECK RANKS ...     the deck's grid for each rank: its axes grow by the prime factors of the count
#   summary                 a table of all series; the exit code says whether every run went well
#
# A job script gives: isotherm (program), decks (folder of DECK), results (folder to make), repeats (runs of each
# kind), overrides (array of key=value for every run), and a function `start RANKS PROGRAM ARGUMENT ...`.

set -o pipefail
: "${isotherm:?}" "${decks:?}" "${results:?}" "${repeats:?}"
declare -a overrides failed=()

# "[1024,1024,2048]": a cube of $2 cells an axis for each of $1 ranks. Each prime factor of the count goes to the
# axis that has grown least, z before y before x.
weak_cells() {
  local ranks=$1 cells=$2 x=1 y=1 z=1 factor=2
  while ((ranks > 1)); do
    if ((ranks % factor != 0)); then
      factor=$((factor + 1))
      continue
    fi
    ranks=$((ranks / factor))
    if ((z <= y && z <= x)); then
      z=$((z * factor))
    elif ((y <= x)); then
      y=$((y * factor))
    else
      x=$((x * factor))
    fi
  done
  echo "[$((x * cells)),$((y * cells)),$((z * cells))]"
}

# The one number behind `cells:` of a deck.
cells_of() {
  local cells
  cells=$(sed -n 's/^  cells: *\([0-9][0-9]*\) *$/\1/p' "$decks/$1")
  [[ -n $cells ]] || {
    echo "$decks/$1 has no line '  cells: NUMBER' (a weak series grows a cube); write one" >&2
    return 1
  }
  echo "$cells"
}

# deck, ranks, override ...
run_all_repeats() {
  local deck=$1 ranks=$2 repeat folder
  shift 2
  for ((repeat = 1; repeat <= repeats; ++repeat)); do
    folder=$results/$(basename "$deck" .yaml)/ranks_${ranks}_run_$repeat
    echo "== $deck on $ranks ranks, run $repeat of $repeats: $folder"
    mkdir -p "$(dirname "$folder")"
    start "$ranks" "$isotherm" run "$decks/$deck" "output.directory=$folder" "${overrides[@]}" "$@" \
      2>&1 | tee "$folder.txt" || failed+=("$folder")
  done
}

strong() {
  local deck=$1 ranks prints
  shift
  for ranks in "$@"; do run_all_repeats "$deck" "$ranks"; done
  prints=$(sed -n 's/^  fingerprint *//p' "$results/$(basename "$deck" .yaml)"/ranks_*.txt | sort -u | wc -l)
  if ((prints > 1)); then
    echo "$deck: $prints different fingerprints (one problem has one answer on any number of ranks)" >&2
    failed+=("$deck")
  fi
}

weak() {
  local deck=$1 ranks cells
  shift
  cells=$(cells_of "$deck")
  for ranks in "$@"; do run_all_repeats "$deck" "$ranks" "grid.cells=$(weak_cells "$ranks" "$cells")"; done
}

# Efficiency: cell updates a second and rank, of those on the fewest ranks. The median of the repeats.
table_of() {
  local text ranks
  for text in "$1"/ranks_*.txt; do
    ranks=${text##*/ranks_}
    sed -n "s|^FOM cell_updates: \([0-9.]*\) GLUP/s|${ranks%%_run_*} \1|p" "$text"
  done | sort -k1,1n -k2,2n | awk '
    { rate[$1, ++runs[$1]] = $2; if (!($1 in seen)) { seen[$1]; order[++counts] = $1 } }
    END {
      for (i = 1; i <= counts; ++i) {
        ranks = order[i]
        n = runs[ranks]
        middle = (rate[ranks, int((n + 1) / 2)] + rate[ranks, int(n / 2) + 1]) / 2
        if (i == 1) one = middle / ranks
        printf "  %6d ranks  %12.3f GLUP/s  efficiency %6.1f %%  %d runs\n", ranks, middle, 100 * middle / ranks / one, n
      }
    }'
}

summary() {
  local series
  for series in "$results"/*/; do
    basename "$series"
    table_of "${series%/}"
  done
  ((${#failed[@]} == 0)) || {
    printf 'failed: %s\n' "${failed[@]}" >&2
    return 1
  }
}
