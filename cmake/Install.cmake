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
