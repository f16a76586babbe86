// NVRTC's compiler, in a separate process.
#ifndef OPBRIDGE_TWIN_LIBRARIES_NVRTC_COMPILER_H
#define OPBRIDGE_TWIN_LIBRARIES_NVRTC_COMPILER_H

#include <string>

namespace opbridge_twin {

// What it writes to its standard output when it is given `input`; false where it cannot be run, and `output` is why.
bool run_compiler(const std::string& input, std::string& output);

}  // namespace opbridge_twin
#endif
