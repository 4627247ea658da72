# A parallel HDF5 that was linked with another MPI builds here and crashes in its first call: an MPI_Comm is a pointer
# in one library and a number in another. Compares file names, not paths: two builds of one MPI are compatible.
# A static HDF5, or a tool that cannot be run, gives no names, and then nothing is rejected.
set(hdf5_library "${HDF5_C_LIBRARY_hdf5}")
if(HDF5_IS_PARALLEL AND hdf5_library MATCHES "\\.so")
  execute_process(COMMAND ${CMAKE_COMMAND} -D LIBRARY=${hdf5_library} -P ${CMAKE_CURRENT_LIST_DIR}/ListNeeded.cmake
                  ERROR_VARIABLE needed OUTPUT_QUIET RESULT_VARIABLE failed)
  string(REGEX MATCHALL "libmpi(ch)?\\.so[.0-9]*" needed "${needed}")
  set(ours "")
  foreach(path IN LISTS MPI_CXX_LIBRARIES)
    file(REAL_PATH ${path} path)
    get_filename_component(name ${path} NAME)
    list(APPEND ours ${name})
  endforeach()
  list(FILTER ours INCLUDE REGEX "^libmpi(ch)?\\.so")
  if(failed EQUAL 0 AND needed AND ours)
    list(GET needed 0 theirs)
    string(REPLACE "." "\\." pattern ${theirs})
    if(NOT "${ours}" MATCHES "(^|;)${pattern}(\\.|;|$)")
      message(FATAL_ERROR "isotherm: HDF5 (${hdf5_library}) was built for another MPI (it needs ${theirs}, and the MPI "
                          "found here is ${ours}); install the HDF5 of this MPI (Debian, Ubuntu: apt install "
                          "libhdf5-openmpi-dev or libhdf5-mpich-dev)")
    endif()
  endif()
endif()
