// Foreign files of every kind, as datasets and tuning files; the messages are part of the interface.
#include "physics/dataset_reader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "support/error_text.hpp"
#include "support/temporary_folder.hpp"
#include "tune/tuning_file.hpp"

namespace isotherm {
namespace {

constexpr Int3 cells{5, 4, 3};
constexpr hsize_t dims[] = {3, 4, 5};  // z, y, x

class ReadDataset : public testing::Test {
 protected:
  ReadDataset() : path_(folder_ / "data.h5") {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    file_ = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    std::iota(values_.begin(), values_.end(), 1.0);
  }

  // Closes `creation`.
  void add(const char* name, hid_t type = H5T_IEEE_F64LE, hid_t creation = H5P_DEFAULT, bool written = true,
           int rank = 3, const hsize_t* shape = dims) {
    const hid_t space = H5Screate_simple(rank, shape, nullptr);
    const hid_t set = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(set, 0) << name;
    if (written) {
      ASSERT_GE(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values_.data()), 0) << name;
    }
    H5Dclose(set);
    H5Sclose(space);
    if (creation != H5P_DEFAULT) H5Pclose(creation);
  }
  static hid_t chunked() {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {2, 2, 2};
    H5Pset_chunk(creation, 3, chunk);
    return creation;
  }

  std::vector<double> read(const std::string& name, Box box = {{0, 0, 0}, cells}) {
    if (file_ >= 0) H5Fclose(std::exchange(file_, -1));
    const DatasetReader reader(path_, name);
    reader.check_shape(cells);
    std::vector<double> values(static_cast<std::size_t>(box.cells()));
    reader.read(box, values.data());
    return values;
  }
  void expect_rejected(const std::string& name, const std::string& problem, ExitCode code = ExitCode::deck) {
    expect_start(refusal([&] { read(name); }, code), path_ + ":" + name + ": " + problem);
  }
  void expect_no_file(const std::string& problem, ExitCode code = ExitCode::deck) {
    expect_start(refusal([&] { read("T"); }, code), path_ + ": " + problem);
  }

  test::TemporaryFolder folder_;
  std::string path_;
  hid_t file_ = -1;
  std::vector<double> values_ = std::vector<double>(60);
};

TEST_F(ReadDataset, WholeAndBox) {
  add("T");
  EXPECT_EQ(read("T"), values_);
  EXPECT_EQ(read("/T", {{1, 2, 1}, {3, 4, 3}}), (std::vector<double>{32, 33, 37, 38, 52, 53, 57, 58}));
  EXPECT_TRUE(read("T", {{2, 2, 2}, {2, 4, 3}}).empty());
}

TEST_F(ReadDataset, EveryKindOfNumber) {
  const std::vector<hid_t> types{H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_STD_I8LE,
                                 H5T_STD_U16BE,  H5T_STD_I32LE,  H5T_STD_U64BE};
  for (std::size_t i = 0; i < types.size(); ++i) add(fmt::format("T{}", i).c_str(), types[i]);
  for (std::size_t i = 0; i < types.size(); ++i) EXPECT_EQ(read(fmt::format("T{}", i)), values_) << i;
}

TEST_F(ReadDataset, BuiltInFiltersAndFillValues) {
  hid_t creation = chunked();
  H5Pset_shuffle(creation);
  H5Pset_deflate(creation, 4);
  H5Pset_fletcher32(creation);
  add("packed", H5T_IEEE_F64LE, creation);
  creation = H5Pcreate(H5P_DATASET_CREATE);
  const double fill = 300;
  H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill);
  add("filled", H5T_IEEE_F64LE, creation, false);
  EXPECT_EQ(read("packed"), values_);
  EXPECT_EQ(read("filled"), std::vector<double>(60, 300));
}

TEST_F(ReadDataset, SoftLinksWithinTheFileAreFollowedToTheirEnd) {
  add("T");
  for (const auto& [to, name] : {std::pair{"/T", "soft"}, {"/b", "a"}, {"/a", "b"}})
    H5Lcreate_soft(to, file_, name, H5P_DEFAULT, H5P_DEFAULT);
  EXPECT_EQ(read("soft"), values_);
  expect_rejected("a", "no such dataset (the file's root holds 'T', 'a', 'b', 'soft')");
}

TEST_F(ReadDataset, NotHdf5TruncatedAndALongName) {
  add("T");
  read("T");
  const std::string good = test::read_file(path_);
  test::write_file(path_, "x,y,z\n");
  expect_no_file("not an HDF5 file (its signature is missing)");
  test::write_file(path_, good.substr(0, good.size() / 2));
  expect_no_file("HDF5 cannot open it (truncated, damaged, or still being written)");
  path_ = std::string(300, 'x');
  expect_no_file("cannot be read (File name too long)", ExitCode::file_missing);
}

TEST_F(ReadDataset, MissingDatasetNamesThoseThatAreThere) {
  add("T");
  add("old");
  for (const char* group : {"group", "VTKHDF", "VTKHDF/PointData"})
    H5Gclose(H5Gcreate2(file_, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  add("VTKHDF/PointData/T");  // a name of the temperature, but the file is not of this program
  for (const char* name : {"/fields/T", "/temperature"})
    expect_rejected(name, "no such dataset (the file's root holds 'T', 'VTKHDF', 'group', 'old')");
  expect_rejected("group", "not a dataset (a group or a named type); name a dataset of");
}

// 8 PiB in a file of two kilobytes: rejected by its shape, before anything is allocated.
TEST_F(ReadDataset, Shapes) {
  const hsize_t huge[] = {1 << 17, 1 << 17, 1 << 16}, seven[] = {1, 1, 1, 1, 3, 4, 5}, reversed[] = {5, 4, 3};
  add("reversed", H5T_IEEE_F64LE, H5P_DEFAULT, true, 3, reversed);
  add("seven", H5T_IEEE_F64LE, H5P_DEFAULT, true, 7, seven);
  add("huge", H5T_IEEE_F64LE, chunked(), false, 3, huge);
  const double fill = 1;
  const hid_t creation = chunked();
  H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill);
  add("filled", H5T_IEEE_F64LE, creation, false, 3, huge);
  add("never", H5T_IEEE_F64LE, H5P_DEFAULT, false);  // unwritten cells are not 0 K
  expect_rejected("seven", "expected rank 3 (nz, ny, nx), found rank 7");
  expect_rejected("reversed",
                  "expected shape (nz, ny, nx) = (3, 4, 5), found (5, 4, 3) (the axes are reversed)");
  expect_rejected("filled", "expected shape (nz, ny, nx) = (3, 4, 5), found");
  for (const char* name : {"huge", "never"})
    expect_rejected(name, "never written (it has a shape but no data, and no fill value)");
}

TEST_F(ReadDataset, Types) {
  const hid_t compound = H5Tcreate(H5T_COMPOUND, 16);
  H5Tinsert(compound, "a", 0, H5T_IEEE_F64LE);
  H5Tinsert(compound, "b", 8, H5T_IEEE_F64LE);
  const hid_t wide = H5Tcopy(H5T_NATIVE_LDOUBLE);
  add("compound", compound, H5P_DEFAULT, false);
  add("wide", wide);
  for (const hid_t type : {compound, wide}) H5Tclose(type);
  expect_rejected("wide", "expected numbers of at most 8 bytes, found 16; store float64");
  expect_rejected("compound", "expected numbers (floating point or integer), found a");
}

TEST_F(ReadDataset, DataInOtherFilesIsRejected) {
  const hid_t external = H5Pcreate(H5P_DATASET_CREATE), assembled = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(external, "/etc/passwd", 0, 480);
  add("external", H5T_IEEE_F64LE, external, false);
  const hid_t space = H5Screate_simple(3, dims, nullptr);
  H5Pset_virtual(assembled, space, "/etc/passwd", "T", space);
  H5Sclose(space);
  add("virtual", H5T_IEEE_F64LE, assembled, false);
  const std::string other = folder_ / "other.h5";
  H5Fclose(H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_external(other.c_str(), "/", file_, "link", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/link/T", file_, "soft", H5P_DEFAULT, H5P_DEFAULT);
  expect_rejected("external", "external storage in '/etc/passwd' (data must lie in the file that is");
  expect_rejected("virtual", "a virtual dataset (its cells lie in other files)");
  for (const char* name : {"link", "link/T", "soft"})
    expect_rejected(name, "an external link to '" + other + "' (data must lie in the file that is named)");
}

TEST_F(ReadDataset, ADamagedChunkGivesTheCodeIo) {
  const hid_t creation = chunked();
  H5Pset_fletcher32(creation);
  add("T", H5T_IEEE_F64LE, creation);
  read("T");
  std::string bytes = test::read_file(path_);
  const double seven = 7;
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&seven), 8));
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  test::write_file(path_, bytes);
  expect_rejected("T", "reading failed (the file is damaged, or the disk has an", ExitCode::io);
}

class TuningFile : public testing::Test {
 protected:
  void keep(const TuningKey& key) const { keep_tuning(path, key, {{"naive", "-", "fused"}}); }

  const test::TemporaryFolder folder_;
  const std::string path = folder_ / "tuning.json";
  const TuningKey some_key{.version = "0.1.0",
                           .git_revision = "abc",
                           .device = "a device",
                           .precision = "fp64",
                           .cells = {512, 256, 128},
                           .asked = "auto auto auto"};
};

// Keys of version 1 belong to other versions of the program.
TEST_F(TuningFile, ReplacesEntriesOfVersionOne) {
  test::write_file(path,
                   R"({"schema": "isotherm-tuning", "version": 1, "entries": [{"key": {}, "choice": {}}]})");
  EXPECT_FALSE(find_tuning(path, some_key));
  std::filesystem::create_symlink(path, path + ".link");
  keep_tuning(path + ".link", some_key, {{"naive", "-", "fused"}});
  EXPECT_TRUE(find_tuning(path, some_key));
}

TEST_F(TuningFile, DistinguishesKeysByEveryPart) {
  keep(some_key);
  const auto differs = [&](auto change) {
    TuningKey key = some_key;
    change(key);
    return !find_tuning(path, key);
  };
  EXPECT_TRUE(differs([](TuningKey& k) { k.version = "0.2.0"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.git_revision = "abd"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.device = "another"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.precision = "fp32"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.cells.z = 129; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.ranks = 2; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.source = true; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.faces = "wwwwpp"; }));
  EXPECT_TRUE(differs([](TuningKey& k) { k.asked = "naive auto auto"; }));
}

TEST_F(TuningFile, KeepsTheEntriesOfConcurrentRuns) {
  constexpr int processes = 4, entries = 8;
  const auto key_of = [&](int number) {
    TuningKey key = some_key;
    key.ranks = number;
    return key;
  };
  for (int process = 0; process < processes; ++process) {
    if (fork() != 0) continue;
    for (int i = 0; i < entries; ++i) keep(key_of(process * entries + i));
    _exit(0);
  }
  while (wait(nullptr) > 0) continue;
  for (int number = 0; number < processes * entries; ++number)
    EXPECT_TRUE(find_tuning(path, key_of(number))) << number;
}

TEST_F(TuningFile, RejectsOtherFiles) {
  for (const auto& [text, why] :
       {std::pair{"hello", "it is not JSON"},
        {R"({"schema": 1})", "it has another schema"},
        {"[]", "it has another schema"},
        {R"({"schema": "isotherm-tuning", "version": 3})", "it has another version"},
        {R"({"schema": "isotherm-tuning", "version": 2})", "an entry is not complete"},
        {R"({"schema": "isotherm-tuning", "version": 2, "entries": [{}]})", "an entry is not complete"}}) {
    test::write_file(path, text);
    expect_start(deck_error([&] { find_tuning(path, some_key); }),
                 "'" + path + "' is no tuning file of this version (" + why + "); name another in ");
  }
}

}  // namespace
}  // namespace isotherm
