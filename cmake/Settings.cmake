# Values of options that are words, and compiler settings of all targets.
# In any case: without this, "off" would build CUDA.
foreach(option ISOTHERM_CUDA ISOTHERM_HDF5 ISOTHERM_HOST_KERNELS)
  string(TOUPPER "${${option}}" word)
  string(REGEX REPLACE "^(TRUE|YES|1)$" "ON" word "${word}")
  string(REGEX REPLACE "^(FALSE|NO|0)$" "OFF" word "${word}")
  get_property(words CACHE ${option} PROPERTY STRINGS)
  if(NOT word IN_LIST words)
    list(JOIN words ", " words)
    message(FATAL_ERROR "isotherm: ${option}=${${option}} is not known; use one of ${words}")
  endif()
  set(${option} ${word})
endforeach()
if(ISOTHERM_PYTHON AND (NOT EXISTS ${ISOTHERM_PYTHON} OR IS_DIRECTORY ${ISOTHERM_PYTHON}))
  message(FATAL_ERROR "isotherm: ISOTHERM_PYTHON=${ISOTHERM_PYTHON} is no file; set it to the path of an interpreter")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(isotherm_settings INTERFACE)
target_include_directories(isotherm_settings INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
# One answer: the compiler must not contract a*b+c or reorder operations. (The suppressed warnings of nvcc
# are about conversions that are never called: 554, of a view of const cells to itself; 445, of a lambda to a function.)
target_compile_options(isotherm_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off -Wall -Wextra -Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false --expt-relaxed-constexpr --extended-lambda --diag-suppress=554,445 -Xcompiler=-ffp-contract=off,-Wall,-Wextra>)
if(NOT ISOTHERM_UNITY_BUILD)  # in a unity build, names shadow those of other sources
  target_compile_options(isotherm_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms on "text" + std::string (GCC bug 105329).
  target_compile_options(isotherm_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(ISOTHERM_WARNINGS_AS_ERRORS)
  target_compile_options(isotherm_settings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror>)
endif()

# isotherm_unity(TARGET [all]): compiles the sources of each folder (small folders together), or all sources, as one
# translation unit. This halves the time of a full build, and makes a build after one change longer. Every source still
# includes what it needs, and compiles alone without the option.
function(isotherm_unity target)
  if(ISOTHERM_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "^[^$]*\\.cpp$")
    # The emulated device replaces the objects of these.
    list(FILTER sources EXCLUDE REGEX "(^|/)registry\\.cpp$|_(cuda|nccl)[a-z_]*\\.cpp$")
    foreach(source IN LISTS sources)
      cmake_path(GET source PARENT_PATH folder)
      string(REGEX REPLACE "/src/(core|grid|halo|solver)$" "/src/solver" folder "${folder}")
      string(REGEX REPLACE "/src/(output|tune).*" "/src/output" folder "${folder}")
      string(MAKE_C_IDENTIFIER "${folder}" group)
      if(ARGN)
        set(group ${ARGN})
      endif()
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
  endif()
endfunction()
