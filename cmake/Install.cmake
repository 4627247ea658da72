# A tree that works wherever it is put: the program, its decks, and its tools: the Python package, and a script for each
# that finds the package by its own place. They have libexec, or pip's scripts of the same names would replace them.
include(GNUInstallDirs)
# Libraries of a cluster's modules lie outside the loader's path.
set_target_properties(isotherm PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS isotherm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(share ${CMAKE_INSTALL_DATADIR}/isotherm)
install(DIRECTORY inputs DESTINATION ${share})
install(DIRECTORY postprocess DESTINATION ${share}
        PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE)
file(RELATIVE_PATH package "/${CMAKE_INSTALL_LIBEXECDIR}/isotherm" "/${share}/postprocess")
isotherm_write_tools(${PROJECT_BINARY_DIR}/install_tools "\$here/${package}")
install(DIRECTORY ${PROJECT_BINARY_DIR}/install_tools/ DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/isotherm USE_SOURCE_PERMISSIONS)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The documentation, man pages and completion are asked of the program: `cmake --build ... --target site` makes them, and what
# was made is installed.
find_program(ISOTHERM_MKDOCS mkdocs)
if(ISOTHERM_MKDOCS)
  add_custom_target(site
    COMMAND ${CMAKE_COMMAND} -E env ISOTHERM=$<TARGET_FILE:isotherm> ${ISOTHERM_MKDOCS} build --strict --quiet
            --site-dir ${PROJECT_BINARY_DIR}/site
    COMMAND ${CMAKE_COMMAND} -E env ISOTHERM=$<TARGET_FILE:isotherm> ${tool_python} docs/generate.py ${PROJECT_BINARY_DIR}/manual
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DEPENDS isotherm VERBATIM)
endif()
install(DIRECTORY ${PROJECT_BINARY_DIR}/site/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html OPTIONAL)
install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
install(FILES ${PROJECT_BINARY_DIR}/manual/isotherm.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME isotherm OPTIONAL)
