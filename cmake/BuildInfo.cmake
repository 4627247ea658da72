# Each build, not only each configuration, updates build_info.cpp if the git revision has changed.
set(build_info_source ${PROJECT_BINARY_DIR}/generated/build_info.cpp)
add_custom_target(isotherm_build_info
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUTPUT=${build_info_source}
          -D VERSION=${PROJECT_VERSION} -D BUILD_TYPE=${CMAKE_BUILD_TYPE}
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          "-DCUDA=${cuda_kind}" -D HDF5_KIND=${hdf5_kind}
          -P ${PROJECT_SOURCE_DIR}/cmake/WriteBuildInfo.cmake
  BYPRODUCTS ${build_info_source} VERBATIM)
