// What run.json holds, as a JSON Schema (draft 7): output/records/run_schema.json, which is in the program as
// it was when that was built. It takes the records of this program and no others: each key is required and
// none is allowed beside them, so that a key that a reader misses, or that nobody has described, is found.
#pragma once

namespace isotherm {

const char* run_schema();  // ends in a newline

}  // namespace isotherm
