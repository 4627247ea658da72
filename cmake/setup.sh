# Sourced by run.sh, test.sh and .ci/run: system packages, configure, build. `top` is the checkout, `program`
# the name that messages start with.
#   ISOTHERM_INSTALL=no       never install packages (a cluster's modules, a machine without apt)
#   ISOTHERM_PRESET=NAME      configure preset instead of cuda where nvcc is found, else cpu
#   ISOTHERM_PYTHON=PATH      interpreter with numpy, h5py, matplotlib instead of the system's
# shellcheck shell=bash disable=SC2034,SC2154

# Names of Debian 12 and Ubuntu 24.04.
build_packages=(g++ cmake ninja-build libopenmpi-dev openmpi-bin libhdf5-openmpi-dev libyaml-cpp-dev
  libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libmuparser-dev libxxhash-dev)
plot_packages=(python3 python3-numpy python3-h5py python3-matplotlib)
test_packages=(libgtest-dev python3-pytest python3-jsonschema python3-yaml jube)
# pvpython is in the second, which the first only recommends.
large_test_packages=(paraview python3-paraview clang-14 libclang-rt-14-dev slurm-wlm munge)
# Ubuntu has Chromium as a snap alone, which sees no folder of a test.
grep -qs '^ID=ubuntu' /etc/os-release || large_test_packages+=(chromium ffmpeg)
check_packages=(clang-format-14 shellcheck git)

# The packages above belong to the system's interpreter; another python3 may come first on PATH.
python=${ISOTHERM_PYTHON:-/usr/bin/python3}

fail() {  # fail CODE MESSAGE
  echo "$program: $2" >&2
  exit "$1"
}

# step NAME LOG COMMAND...: all output goes to LOG; a failure is named in one line and ends the script.
step() {
  local name=$1 log=$2 started=$SECONDS
  shift 2
  mkdir -p "$(dirname "$log")"
  printf '%s ... ' "$name"
  "$@" >"$log" 2>&1 || {
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
  # A foreign repository that does not answer need not stop us: the installation says what is really missing.
  "${apt[@]}" update || echo "apt-get update failed"
  "${apt[@]}" install -y --no-install-recommends "$@"
}

# Touches no network when everything is there.
install_packages() {
  [[ ${ISOTHERM_INSTALL:-yes} != no ]] || return 0
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

choose_preset() {
  if [[ ${ISOTHERM_PRESET:-} ]]; then
    echo "$ISOTHERM_PRESET"
  elif has_nvcc; then
    echo cuda
  else
    echo cpu
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
  if command -v ninja >/dev/null; then
    export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}
  fi
  if (($#)) || [[ ! -f $folder/build.ninja && ! -f $folder/Makefile ]]; then
    (($#)) || set -- -D ISOTHERM_TESTS=OFF
    step "configuring ($preset)" "$folder/log/configure.log" \
      cmake -S "$top" --preset "$preset" "$@"
  fi
  step "building ($preset)" "$folder/log/build.log" \
    cmake --build "$folder" --parallel "$(processors)" --target "$target"
}
