#ifndef OPBRIDGE_TWIN_ERROR_TEXT_H
#define OPBRIDGE_TWIN_ERROR_TEXT_H

#include <cuda_runtime_api.h>

#include <string>

extern "C" {
const char* ob_twin_take_reports(void);
void ob_twin_clear_errors(void);
}

namespace opbridge_twin {

// What an exception says of an error; what the twin has found is the better half of it, and is told once.
inline std::string take_error_text(cudaError_t error) {
  std::string said = std::string("CUDA error: ") + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")";
  if (error == cudaErrorInvalidDevice) said += "\nGPU device may be out of range, do you have enough GPUs?";
  if (const char* const reports = ob_twin_take_reports()) said += std::string("\n") + reports;
  ob_twin_clear_errors();
  return said;
}

}  // namespace opbridge_twin

#endif
