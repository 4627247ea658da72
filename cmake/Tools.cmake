# The tools in Python: `isotherm NAME` starts isotherm-NAME, a script that calls the package in postprocess. Only
# its pyproject.toml lists their names.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/postprocess/pyproject.toml)
file(STRINGS ${PROJECT_SOURCE_DIR}/postprocess/pyproject.toml isotherm_tools REGEX "^isotherm-[a-z-]+ = ")
list(TRANSFORM isotherm_tools REPLACE "^isotherm-([a-z-]+) = .*" "\\1")
# Their folder in an installation, from that of the program.
include(GNUInstallDirs)
set(tool_folder ${CMAKE_INSTALL_FULL_LIBEXECDIR}/isotherm)
file(RELATIVE_PATH tools_from_program ${CMAKE_INSTALL_FULL_BINDIR} ${tool_folder})

# The interpreter of the scripts: ISOTHERM_PYTHON of the configuration, or of the environment in which a tool is started.
set(tool_python ${ISOTHERM_PYTHON})
if(NOT tool_python)
  find_program(tool_python python3 PATHS /usr/bin NO_DEFAULT_PATH NO_CACHE)
endif()
if(NOT tool_python)
  set(tool_python python3)
endif()

# isotherm_write_tools(FOLDER PACKAGE): a script for each tool. PACKAGE: the folder of isotherm_tools, in shell syntax.
function(isotherm_write_tools folder package)
  file(REMOVE_RECURSE ${folder})  # it may have tools of earlier versions
  foreach(tool IN LISTS isotherm_tools)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tool.sh.in ${folder}/isotherm-${tool}
                   @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
endfunction()
string(REGEX REPLACE "([$`\"\\])" "\\\\\\1" package ${PROJECT_SOURCE_DIR}/postprocess)
isotherm_write_tools(${PROJECT_BINARY_DIR}/tools "${package}")
