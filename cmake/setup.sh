# Sourced by run.sh, test.sh and .ci/run: system packages, configure, build. `top` is the checkout, `program`
# the name that messages start with.
#   ISOTHERM_INSTALL=no       never install packages (a cluster's modules, a machine without apt)
#   ISOTHERM_PRESET=NAME      configure preset instead of cuda where nvcc and a GPU are found, else cpu
#   ISOTHERM_PYTHON=PATH      interpreter with numpy, h5py, matplotlib instead of the system's
# shellcheck shell=bash disable=SC2034,SC2154

# Names of Debian 12 and Ubuntu 24.04.
build_packages=(g++ cmake ninja-build libopenmpi-dev openmpi-bin libhdf5-openmpi-dev libyaml-cpp-dev
  libcli11-dev libfmt-dev nlohmann-json3-dev tao-pegtl-dev libxxhash-dev)
plot_packages=(python3 python3-numpy python3-h5py python3-matplotlib)
test_packages=(libgtest-dev libmpfr-dev libmuparser-dev python3-pytest python3-jsonschema python3-yaml universal-ctags jube libhypre-dev)
# pvpython is in python3-paraview, which paraview only recommends.
large_test_packages=(mkdocs-material paraview python3-paraview clang-14 libclang-rt-14-dev slurm-wlm munge)
# Ubuntu has Chromium only as a snap, which cannot read the folders of tests.
grep -qs '^ID=ubuntu' /etc/os-release || large_test_packages+=(chromium ffmpeg)
check_packages=(clang-format-14 codespell shellcheck git)

fail() {  # fail CODE MESSAGE
  echo "$program: $2" >&2
  exit "$1"
}

# The packages above belong to the system's interpreter; another python3 may come first on PATH.
python=/usr/bin/python3

# watch NAME LOG: copies the output of a command to LOG, and shows the progress of a build ("[12/345] ..." of Ninja,
# "[ 12%] ..." of make): on a terminal in one line that is rewritten, otherwise in a line for each tenth.
watch() {
  local name=$1 line built tenths shown=0
  while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      built="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} files" tenths=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    elif [[ $line =~ ^\[\ *([0-9]+)%\]\  ]]; then
      built="${BASH_REMATCH[1]} %" tenths=$((BASH_REMATCH[1] / 10))
    else
      continue
    fi
    if [[ -t 3 ]]; then
      printf '\r%s ... %s ... ' "$name" "$built" >&3
    elif ((tenths > shown && tenths < 10)); then
      shown=$tenths
      printf '%s\n%s ... ' "$built" "$name" >&3
    fi
  done 3>&1 >"$2"
}

# step NAME LOG COMMAND...: all output goes to LOG; a failure is named in one line and ends the script.
step() {
  local name=$1 log=$2 started=$SECONDS
  shift 2
  mkdir -p "$(dirname "$log")"
  printf '%s ... ' "$name"
  "$@" 2>&1 | watch "$name" "$log" || {
    echo failed
    fail 1 "$name failed; its log is $log"
  }
  echo "$((SECONDS - started)) s"
}

missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null) == installed* ]] || echo "$package"
  done
}

apt_install() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600)
  ((EUID == 0)) || apt=(sudo "${apt[@]}")
  # Not an error if a third-party repository does not answer: the installation reports what is really missing.
  "${apt[@]}" update || echo "apt-get update failed"
  "${apt[@]}" install -y --no-install-recommends "$@"
}

# Touches no network when everything is there.
install_packages() {
  if [[ ${ISOTHERM_PYTHON:-} ]]; then
    python=$(type -P "$ISOTHERM_PYTHON") || fail 69 "ISOTHERM_PYTHON: there is no program $ISOTHERM_PYTHON; set it to a Python 3.9 or newer"
    python=$(realpath -s "$python")  # scripts change folders; a link of a virtual environment stays
  fi
  case ${ISOTHERM_INSTALL:-yes} in
    yes) ;;
    no) return 0 ;;
    *) fail 2 "ISOTHERM_INSTALL=$ISOTHERM_INSTALL is not known; use yes or no" ;;
  esac
  if ! command -v dpkg-query >/dev/null; then
    echo "$program: not a Debian or Ubuntu system, so packages are not checked; needed are the likes of: $*"
    return 0
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  echo "missing system packages: ${missing[*]}"
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    fail 69 "cannot install packages (not root, and no sudo); have these installed, or set ISOTHERM_INSTALL=no: ${missing[*]}"
  fi
  step "installing packages" "$top/build/log/packages.log" apt_install "${missing[@]}"
}

# An nvcc that is new enough (cmake/Dependencies.cmake says why).
has_nvcc() {
  local nvcc version
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p') || return 1
  [[ $version && $(printf '%s\n' 12.5 "$version" | sort -V | head -n 1) == 12.5 ]]
}

# A GPU that answers: the build is for its architecture (cmake/CudaArchitectures.cmake).
has_gpu() {
  nvidia-smi --list-gpus 2>/dev/null | grep -q '^GPU '
}

# Sets `preset`. Code for GPUs takes longer to build than all other code, and cannot run here without a GPU.
choose_preset() {
  preset=${ISOTHERM_PRESET:-cpu}
  if [[ ! ${ISOTHERM_PRESET:-} ]] && has_nvcc; then
    if has_gpu; then
      preset=cuda
    else
      echo "no GPU answers here, so CUDA is not built; ISOTHERM_PRESET=cuda builds it all the same"
    fi
  fi
}

# Not plain nproc: it obeys OMP_NUM_THREADS, which is about the program's threads.
processors() {
  env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc
}

# build_isotherm PRESET TARGET [CMAKE_ARGUMENTS...]: with arguments it configures always, else only the first time
# (the build itself configures again when a CMake file or the list of sources changes).
build_isotherm() {
  local preset=$1 target=$2 folder=$top/build/$1
  shift 2
  local is_new=1
  if [[ -f $folder/build.ninja || -f $folder/Makefile ]]; then is_new=0; fi
  if (($# || is_new)); then
    # For this processor alone: host kernels of all instruction sets take half of a build.
    (($#)) || set -- -D ISOTHERM_TESTS=OFF -D ISOTHERM_HOST_KERNELS=NATIVE
    ((!is_new)) || set -- "$@" -D ISOTHERM_UNITY_BUILD=ON
    step "configuring ($preset)" "$folder/log/configure.log" \
      cmake -S "$top" --preset "$preset" "$@"
  fi
  step "building ($preset)" "$folder/log/build.log" \
    cmake --build "$folder" --parallel "$(processors)" --target "$target"
}

quoted() {  # for a shell
  printf "'%s'" "${1//\'/\'\\\'\'}"
}

# write_command NAME COMMAND: an executable script in build/bin.
write_command() {
  printf '#!/bin/sh\n%s\n' "$2" >"$top/build/bin/$1"
  chmod +x "$top/build/bin/$1"
}

# Writes env.sh, to be sourced, and the folder that it puts first on the PATH, with the program that was built last, its
# tools, and a python3 that has their packages.
write_environment() {
  local interpreter tool
  interpreter=$("$python" -c 'import sys; print(sys.executable)' 2>/dev/null) || interpreter=$python
  mkdir -p "$top/build/bin"
  ln -sfn "../$preset/isotherm" "$top/build/bin/isotherm"
  write_command python3 "PYTHONPATH=$(quoted "$top/postprocess")\${PYTHONPATH:+:\$PYTHONPATH} exec $(quoted "$interpreter") \"\$@\""
  while read -r tool; do
    write_command "isotherm-$tool" "exec $(quoted "$top/build/bin/python3") -m isotherm_tools $tool \"\$@\""
  done < <(sed -n 's/^isotherm-\([a-z-]*\) = .*/\1/p' "$top/postprocess/pyproject.toml" 2>/dev/null)
  {
    echo "# Made by run.sh, to be sourced: isotherm, its tools (isotherm-report, ...), and a python3 that has isotherm_tools and its packages."
    echo "export PATH=$(quoted "$top/build/bin"):\"\$PATH\""
    [[ ! ${ISOTHERM_PYTHON:-} ]] || echo "export ISOTHERM_PYTHON=$(quoted "$interpreter")"  # isotherm NAME starts it
    # For root in a container: Open MPI's mpirun, which studies start, refuses to run as root without both variables.
    ((EUID != 0)) || echo "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
  } >"$top/build/env.sh"
}
