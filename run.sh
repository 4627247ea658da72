#!/usr/bin/env bash
# Installs what is missing, builds isotherm, runs a deck and draws a picture of the result.
#   ./run.sh [deck] [arguments]      no deck: inputs/quickstart.yaml
# Arguments are those of `isotherm run`, e.g. ./run.sh inputs/quickstart.yaml precision=fp32
# Exit code: the program's. One process with all cores; for more see docs/guide/ranks.md. More settings: cmake/setup.sh.
set -euo pipefail
program=run.sh
top=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source "$top/cmake/setup.sh"

# A deck that the user names runs in the user's folder, which also gets its run directory. The quickstart runs in the
# checkout and replaces its own last run, in runs/first_run: the tour writes to runs/quickstart.
choose_deck() {
  case ${1:-} in
    "" | -* | *=*)
      cd "$top"
      deck=inputs/quickstart.yaml
      arguments=(output.overwrite=true "$@")
      [[ " $*" == *" output.directory="* ]] || arguments+=(output.directory=runs/first_run)
      ;;
    *)
      deck=$1
      if [[ ! -e $deck && -e $top/$deck ]]; then
        deck=$top/$deck
      fi
      arguments=("${@:2}")
      ;;
  esac
  [[ -f $deck ]] || fail 66 "deck $deck is no file; name one, such as those in $top/inputs"
}

# stdout holds the report; the progress line goes to stderr, past tee.
run_deck() {
  local code=0
  "$top/build/$preset/isotherm" run "$deck" "${arguments[@]}" | tee "$log" || code=${PIPESTATUS[0]}
  ((code == 0)) || fail "$code" "running $deck failed with exit code $code of isotherm; its report is $log"
  # The banner's line "  deck   inputs/quickstart.yaml -> runs/quickstart".
  directory=$(sed -n 's/^  deck  .* -> //p' "$log" | head -n 1)
  [[ -d $directory ]] || fail 70 "finding the run directory failed; the run ended well, and its report is $log"
  directory=$(readlink -f "$directory")
}

draw_picture() {
  snapshots=("$directory"/*_*.hdf)
  views=("$directory"/*.xmf)
  [[ -e ${snapshots[0]} ]] || return 0  # output.snapshots: false
  picture=$directory/picture.png
  step "drawing the picture" "$top/build/$preset/log/picture.log" env PYTHONDONTWRITEBYTECODE=1 \
    "$top/build/bin/python3" -m isotherm_tools slice "$directory" --all-times --out "$picture"
}

say_where() {
  echo
  echo "to continue, type  source $(quoted "$top/build/env.sh")"
  echo "everything is in  $directory"
  if [[ -e ${picture:-} ]]; then
    echo "picture           $picture"
    echo "snapshots         ${#snapshots[@]}; open ${views[0]} in ParaView"
  fi
  echo "record            $directory/run.json"
}

for argument in "$@"; do
  if [[ $argument == --help || $argument == -h ]]; then
    sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}"
    exit 0
  fi
done
choose_deck "$@"
install_packages "${build_packages[@]}" "${plot_packages[@]}"
choose_preset
log=$top/build/$preset/log/run.log
build_isotherm "$preset" isotherm
write_environment
run_deck
draw_picture
say_where
