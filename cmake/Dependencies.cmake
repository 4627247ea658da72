# Every library comes from find_package; nothing is fetched. A missing one is named with its Debian package.
function(isotherm_require package debian)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "isotherm: ${package} was not found; install it (Debian, Ubuntu: apt install ${debian}) "
                        "or name its place with -D CMAKE_PREFIX_PATH=...")
  endif()
  set(${package}_FOUND ${${package}_FOUND} PARENT_SCOPE)
  foreach(name ${package}_VERSION ${package}_IS_PARALLEL)
    if(DEFINED ${name})
      set(${name} ${${name}} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(MPI_CXX_SKIP_MPICXX ON)  # the C++ bindings that MPI 3.0 removed: more than a second in every file that has mpi.h
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(FATAL_ERROR "isotherm: MPI was not found; install it (Debian, Ubuntu: apt install libopenmpi-dev openmpi-bin)")
endif()
find_package(OpenMP QUIET COMPONENTS CXX)
if(NOT OpenMP_CXX_FOUND)
  message(FATAL_ERROR "isotherm: OpenMP was not found; use a compiler that has it (g++ has)")
endif()

# The C API of HDF5; parallel where there is one. find_package(HDF5) asks for the C language.
enable_language(C)
set(HDF5_PREFER_PARALLEL ON)
if(ISOTHERM_HDF5 STREQUAL "SERIAL")
  set(HDF5_PREFER_PARALLEL OFF)
endif()
find_package(HDF5 QUIET COMPONENTS C)
if(NOT HDF5_FOUND)
  message(FATAL_ERROR "isotherm: HDF5 was not found; install it (Debian, Ubuntu: apt install libhdf5-openmpi-dev)")
endif()
if((ISOTHERM_HDF5 STREQUAL "PARALLEL" AND NOT HDF5_IS_PARALLEL) OR
   (ISOTHERM_HDF5 STREQUAL "SERIAL" AND HDF5_IS_PARALLEL))
  message(FATAL_ERROR "isotherm: ISOTHERM_HDF5=${ISOTHERM_HDF5} but only another HDF5 was found; install it (Debian, "
                      "Ubuntu: apt install libhdf5-openmpi-dev, or libhdf5-dev for the serial one) in a new build folder")
endif()
include(CheckHdf5Mpi)

isotherm_require(yaml-cpp libyaml-cpp-dev)
if(NOT TARGET yaml-cpp::yaml-cpp)  # 0.7 has only the bare name
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
isotherm_require(CLI11 libcli11-dev)
isotherm_require(fmt libfmt-dev)
isotherm_require(nlohmann_json nlohmann-json3-dev)

find_package(muparser QUIET CONFIG)
if(TARGET muparser::muparser)
  add_library(isotherm_muparser ALIAS muparser::muparser)
else()  # Debian 12 ships headers, library and a pkg-config file only
  find_path(MUPARSER_INCLUDE_DIR muParser.h)
  find_library(MUPARSER_LIBRARY muparser)
  if(NOT MUPARSER_INCLUDE_DIR OR NOT MUPARSER_LIBRARY)
    message(FATAL_ERROR "isotherm: muParser was not found; install it (Debian, Ubuntu: apt install libmuparser-dev)")
  endif()
  add_library(isotherm_muparser INTERFACE)
  target_include_directories(isotherm_muparser SYSTEM INTERFACE ${MUPARSER_INCLUDE_DIR})
  target_link_libraries(isotherm_muparser INTERFACE ${MUPARSER_LIBRARY})
endif()

find_path(XXHASH_INCLUDE_DIR xxhash.h)  # its header is all that is used
if(NOT XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "isotherm: xxHash was not found; install it (Debian, Ubuntu: apt install libxxhash-dev)")
endif()
add_library(isotherm_xxhash INTERFACE)
target_include_directories(isotherm_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})

# CUDA: a laptop without it must build, and so must a node with a toolkit but no GPU.
set(ISOTHERM_HAVE_CUDA 0)
if(NOT ISOTHERM_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    find_program(ISOTHERM_NVCC nvcc HINTS /usr/local/cuda/bin)
    set(CMAKE_CUDA_COMPILER ${ISOTHERM_NVCC})
  endif()
  check_language(CUDA)
  # Bulk tensor copies want a toolkit of this version; what is older builds the program without GPUs.
  set(oldest_cuda 12.5)
  if(CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_text ERROR_QUIET)
    if(nvcc_text MATCHES "release ([0-9]+\\.[0-9]+)" AND CMAKE_MATCH_1 VERSION_LESS oldest_cuda)
      set(too_old "isotherm: CUDA ${CMAKE_MATCH_1} (${CMAKE_CUDA_COMPILER}) is too old; install ${oldest_cuda} or later")
      if(ISOTHERM_CUDA STREQUAL "ON")
        message(FATAL_ERROR "${too_old}, or configure with -D ISOTHERM_CUDA=OFF")
      endif()
      message(WARNING "${too_old}. The program is built without CUDA")
      unset(CMAKE_CUDA_COMPILER CACHE)
      set(CMAKE_CUDA_COMPILER "")
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER)
    include(CudaArchitectures)
    enable_language(CUDA)
    set(CMAKE_CUDA_STANDARD 20)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 (Debian 12) does not know that nvcc has it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit QUIET REQUIRED)
    find_package(NCCL 2.13 QUIET)  # the first that says what its last error was
    set(ISOTHERM_HAVE_CUDA 1)
  elseif(ISOTHERM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "isotherm: ISOTHERM_CUDA=ON but no CUDA compiler was found; put nvcc on PATH or set "
                        "CMAKE_CUDA_COMPILER")
  endif()
endif()

# Ranges for profilers: headers alone, of the toolkit or by themselves, whether CUDA is compiled or not. What they are
# included from looks for a tool when the program runs.
find_package(CUDAToolkit QUIET)
find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
mark_as_advanced(NVTX_INCLUDE_DIR)
