# shellcheck shell=bash
# Sourced by recipes that make the runs of a weak series one by one (packaging/); isotherm study makes them by itself.
#
#   weak_cells DECK RANKS     the grid of a weak series on so many ranks, "[48,48,96]", as the program chooses it
#
# $isotherm: the program.

weak_cells() {
  local cells
  cells=$("${isotherm:?}" check "$1" "scaling={kind: weak, ranks: [$2]}" |
    sed -n 's/^  ranks-[0-9]*  *[0-9]*  *\([0-9]*\) x \([0-9]*\) x \([0-9]*\) .*/[\1,\2,\3]/p')
  [[ -n $cells ]] || return 1  # the program has printed the reason
  echo "$cells"
}
