# Fails when an object compiled for a newer instruction set has a function that the linker could give to all
# callers: a weak one without the instruction set in its name. Called with NM, VARIANT and OBJECTS.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} -C --defined-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "," symbols "${symbols}")
  string(REPLACE "\n" ";" symbols "${symbols}")
  foreach(symbol IN LISTS symbols)
    if(symbol MATCHES " [WwiT] " AND NOT symbol MATCHES "isotherm::host::${VARIANT}[,>]")
      message(FATAL_ERROR "isotherm: ${object} would share code compiled for ${VARIANT} with every caller:\n"
                          "${symbol}\nmake it static or always inline, or a template over Isa")
    endif()
  endforeach()
endforeach()
