// Attributes and scalar texts of HDF5 objects. On a file opened by several ranks all of them write the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "output/hdf5_call.hpp"

namespace isotherm {

// `path` is the file's, for messages. Texts are of fixed length: VTK's reader does not know others.
void write_attribute(hid_t object, const char* name, std::string_view text, const std::string& path);
void write_attribute(hid_t object, const char* name, std::span<const std::int64_t> values,
                     const std::string& path);
void write_attribute(hid_t object, const char* name, std::span<const double> values, const std::string& path);
void write_attribute(hid_t object, const char* name, std::int64_t value, const std::string& path);
void write_attribute(hid_t object, const char* name, std::uint64_t value, const std::string& path);
void write_attribute(hid_t object, const char* name, double value, const std::string& path);

bool has_attribute(hid_t object, const char* name);
// Throw Error(deck) when the attribute is missing or is not of this kind and length.
std::string read_text_attribute(hid_t object, const char* name, const std::string& path);
std::int64_t read_int_attribute(hid_t object, const char* name, const std::string& path);
std::uint64_t read_uint_attribute(hid_t object, const char* name, const std::string& path);
double read_real_attribute(hid_t object, const char* name, const std::string& path);
std::array<std::int64_t, 3> read_int3_attribute(hid_t object, const char* name, const std::string& path);
std::array<double, 3> read_real3_attribute(hid_t object, const char* name, const std::string& path);

// Texts too long for an attribute (64 KiB): a scalar dataset. Created by all, written by the rank that has a
// text.
void write_text_dataset(hid_t group, const char* name, std::string_view text, bool this_rank_writes,
                        const std::string& path);
std::string read_text_dataset(hid_t group, const char* name, const std::string& path);

}  // namespace isotherm
