# Translates launches of CUDA C++ for host compilers: kernel<<<grid, block, shared_bytes, stream>>>(...) becomes
# emulation::launcher(kernel, grid, block, shared_bytes, stream)(...). Called with SOURCE and RESULT.
file(READ ${SOURCE} text)
# A name and, perhaps, template arguments, of which one may have its own.
set(kernel "[A-Za-z_0-9:]+(<([^<>;]|<[^<>;]*>)*>)?")
# Expressions and line breaks, but no third bracket in a row and no end of a statement.
set(configuration "((<<?|>>?)?[^<>;])+")
string(REGEX REPLACE "(${kernel})[ \n]*<<<(${configuration})>>>[ \n]*\\(" "emulation::launcher(\\1, \\4)(" text "${text}")

string(REGEX REPLACE "//[^\n]*" "" code "${text}")
string(FIND "${code}" "<<<" at)
if(NOT at EQUAL -1)
  string(SUBSTRING "${code}" 0 ${at} before)
  string(REGEX REPLACE "[^\n]" "" line "${before}")
  string(LENGTH "\n${line}" line)
  message(FATAL_ERROR "${SOURCE}:${line}: the emulation of CUDA understands a launch kernel<<<grid, block, "
                      "shared_bytes, stream>>>(...) with a plain name or template of a kernel, and not this <<<")
endif()
file(WRITE ${RESULT} "#line 1 \"${SOURCE}\"\n${text}")
