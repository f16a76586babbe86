#ifndef OPBRIDGE_TWIN_ERROR_TEXT_H
#define OPBRIDGE_TWIN_ERROR_TEXT_H

#include <cuda_runtime_api.h>

#include <string>

extern "C" {
const char* ob_twin_take_reports(void);
void ob_twin_clear_errors(void);
}

namespace opbridge_twin {

// Returns the text of an exception for an error.  It includes the twin's finding, once.
inline std::string take_error_text(cudaError_t error) {
  std::string said = std::string("CUDA error: ") + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  if (error == cudaErrorInvalidDevice) said += "\nGPU device may be out of range, do you have enough GPUs?";
  if (const char* const reports = ob_twin_take_reports()) said += std::string("\n") + reports;
  ob_twin_clear_errors();
  return said;
}

}  // namespace opbridge_twin

#endif
