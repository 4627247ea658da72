# Read by CMake before it chooses a generator. Ninja where it is installed: it builds in parallel without being told to. Nobody who
# has chosen is overruled: -G, CMAKE_GENERATOR, presets of the user's own, a build folder that has one, cmake-gui.
set(words "-G")
if(EXISTS /proc/self/exe)
  file(READ_SYMLINK /proc/self/exe program)
  if(program STREQUAL CMAKE_COMMAND)
    file(STRINGS /proc/self/cmdline words)
  endif()
endif()
if(NOT CMAKE_GENERATOR AND NOT DEFINED ENV{CMAKE_GENERATOR} AND NOT words MATCHES "(^|;)-G"
   AND NOT EXISTS ${CMAKE_CURRENT_LIST_DIR}/CMakeUserPresets.json)
  find_program(ISOTHERM_NINJA NAMES ninja ninja-build NO_CACHE)
  if(ISOTHERM_NINJA)
    set(CMAKE_GENERATOR Ninja CACHE INTERNAL "")
  endif()
endif()
