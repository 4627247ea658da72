# --show-prefix prints an empty line for the top folder: a tree inside another repository has no revision of its own.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix --short=12 HEAD OUTPUT_VARIABLE revision
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT revision MATCHES "^\n([0-9a-f]+)$")
  set(revision "unknown")
else()
  set(revision ${CMAKE_MATCH_1})
  if(changes)
    string(APPEND revision "-modified")
  endif()
endif()
file(WRITE ${OUTPUT}.new "#include \"core/build_info.hpp\"
namespace isotherm {
const BuildInfo& build_info() {
  static const BuildInfo info{\"${VERSION}\", \"${revision}\", \"${BUILD_TYPE}\", \"${COMPILER}\", \"${CUDA}\", \"${HDF5_KIND}\"};
  return info;
}
}  // namespace isotherm
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
