// The group /isotherm/checkpoint of a file.
#pragma once

#include <optional>
#include <string>

#include "output/checkpoint_state.hpp"
#include "output/hdf5_call.hpp"

namespace isotherm {

// `id`: of the group that the file has of its own.
void write_checkpoint_state(hid_t id, const CheckpointState& state, const std::string& path);
// Throws Error(deck) where an attribute is missing or wrong, or the version is newer than this program.
CheckpointState read_checkpoint_state(hid_t id, const std::string& path);

}  // namespace isotherm
