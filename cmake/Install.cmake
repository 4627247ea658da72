# Installs a tree that may be moved: the program, its decks, the Python package of the tools, and a script for each tool
# that finds the package relative to itself. They are in libexec, as pip would replace scripts of these names in bin.
# The loader does not search the folders of a cluster's modules by itself.
set_target_properties(isotherm PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS isotherm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(share ${CMAKE_INSTALL_DATADIR}/isotherm)
install(DIRECTORY inputs DESTINATION ${share})
install(DIRECTORY postprocess DESTINATION ${share}
        PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE PATTERN build EXCLUDE)
file(RELATIVE_PATH package ${tool_folder} ${CMAKE_INSTALL_FULL_DATADIR}/isotherm/postprocess)
isotherm_write_tools(${PROJECT_BINARY_DIR}/install_tools "\$here/${package}")
install(DIRECTORY ${PROJECT_BINARY_DIR}/install_tools/ DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/isotherm USE_SOURCE_PERMISSIONS)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# `cmake --build ... --target site` makes the documentation, man pages and completion, by calls of the program. They are
# installed if they have been made.
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
