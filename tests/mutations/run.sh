#!/usr/bin/env bash
# Breaks one line of the program at a time; the test of this line must fail. A separate job: it builds everything once
# more, and a part of it for each mutation.
#   tests/mutations/run.sh FOLDER [NAME...]     copies and builds in FOLDER; exit code 1 if a mutation survives
set -euo pipefail
top=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
folder=${1:?"usage: tests/mutations/run.sh FOLDER [NAME...]"}
shift
mkdir -p "$folder/source"
folder=$(readlink -f "$folder")
wanted=" $* " survivors=()

(cd "$top" && git ls-files -z | xargs -0 cp --parents --update -t "$folder/source")
cmake -S "$folder/source" -B "$folder/build" -D CMAKE_BUILD_TYPE=Release -D ISOTHERM_CUDA=OFF -D ISOTHERM_TESTS=ON >"$folder/log"
build() { cmake --build "$folder/build" --parallel "$(nproc)" --target isotherm >>"$folder/log" 2>&1; }
build

# mutate NAME FILE SED TEST: SED breaks FILE, and the CTest test TEST must fail.
mutate() {
  local name=$1 file=$folder/source/$2 expression=$3 test=$4
  [[ $wanted == "  " || $wanted == *" $name "* ]] || return 0
  cp -p "$file" "$folder/original"
  sed -i -E "$expression" "$file"
  if cmp -s "$file" "$folder/original"; then
    echo "$name: $2 has no such line any more: mend tests/mutations/run.sh" >&2
    exit 1
  fi
  build || { echo "$name: does not compile; see $folder/log" >&2; exit 1; }
  if ctest --test-dir "$folder/build" -R "^$test\$" >>"$folder/log" 2>&1; then
    echo "$name: SURVIVES $test"
    survivors+=("$name")
  else
    echo "$name: found by $test"
  fi
  cp "$folder/original" "$file"
}

mutate kernel kernels/host/stencil_openmp.cpp 's/cell - pitch_y, cell \+ pitch_y/cell - pitch_y, cell - pitch_y/' compare
mutate halo src/halo/packed_transport.cpp 's/cells_\.unpack\(/if (i != 1) &/' ranks
mutate guard src/output/safe_file.cpp 's/if \(errno != EOPNOTSUPP.*/if (errno == 12345) reject(path, "", bytes);/' odd_disks
mutate read_back src/output/field_files/snapshot.cpp 's/if \(on_disk != header\.meta\.fingerprint\)/if (on_disk == 12345)/' odd_disks
mutate short_write src/output/safe_file.cpp 's/remove_prefix\(static_cast<std::size_t>\(taken\)\)/remove_prefix(bytes.size())/' odd_disks
mutate fsync src/output/field_files/snapshot.cpp 's/^( *)sync_file\(part\);/\1/' checkpoint_faults
mutate names src/output/safe_file.cpp 's/^( *)entry\.sync\(\);/\1/' checkpoint_faults
mutate rename src/output/safe_file.cpp 's/if \(std::rename\(from.*\) fail/if (std::rename(to.c_str(), to.c_str()) == 5) fail/' checkpoint_faults
mutate newest src/output/field_files/snapshot.cpp 's/^( *)std::ranges::reverse\(sweeps\);/\1/' checkpoint_faults
mutate clock src/core/timer.hpp 's/std::chrono::steady_clock/std::chrono::system_clock/' signals
mutate descriptors src/output/field_files/snapshot_file_hdf5_parallel.cpp 's/communicator\.all\(open_and_close\(MPI_COMM_SELF.*&&//' environment
mutate on_error src/app/time_loop.hpp 's/if \(config_\.output\.on_error == OnError::stop\) throw;//' odd_disks
mutate divergence src/app/time_loop.cpp 's/if \(!\(value <= largest_update\)\)/if (value < 0)/' inputs
mutate format src/output/field_files/snapshot_header.cpp 's/version >= 1 /version >= 2 /' fixtures
mutate literal src/app/run.cpp 's/directory_\{config\(\)\.output\.directory\}/directory_{config().output.directory + "_"}/' paths

if ((${#survivors[@]})); then
  echo "survived: ${survivors[*]}"
  exit 1
fi
