# A tree that works wherever it is put: the program, its decks, and the Python package that draws its runs
# (PYTHONPATH=<prefix>/share/isotherm/postprocess, or pip install of that folder).
include(GNUInstallDirs)
# Libraries of a cluster's modules lie outside the loader's path.
set_target_properties(isotherm PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS isotherm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
set(share ${CMAKE_INSTALL_DATADIR}/isotherm)
install(DIRECTORY inputs DESTINATION ${share})
install(DIRECTORY postprocess DESTINATION ${share}
        PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
