# cmake -D LIBRARY=<shared library> -P ListNeeded.cmake: prints the names of the libraries that it needs, one per line.
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${LIBRARY} RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR lost)
foreach(path IN LISTS found lost)
  get_filename_component(name ${path} NAME)
  message(${name})
endforeach()
