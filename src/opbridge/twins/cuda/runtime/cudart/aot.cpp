// Runs kernels with the plain C call for a host whose tensors are in ordinary memory.
#include <cuda_runtime_api.h>
#include <host_call.h>
#include <opbridge/abi.h>
#include <opbridge_twin/aot.h>

#include "checks/checks.h"
#include "state.h"

namespace opbridge_twin {
namespace {

std::string what_failed() {
  std::string text;
  if (const char* reports = ob_twin_take_reports()) text = reports;
  const cudaError_t error = cudaGetLastError();
  ob_twin_clear_errors();
  if (text.empty() && error != cudaSuccess)
    text = std::string("a CUDA call or launch failed: ") + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
           "), error " + std::to_string(error);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace
}  // namespace opbridge_twin

int ob_twin_run_aot(ob_twin_aot_function function, const char* name, int nparam, void** params, int* ndims,
                    int64_t** shapes, const char** dtypes, void*, void* extra) {
  using namespace opbridge_twin;
  ob_twin_attach_host();
  const opbridge_twins::Lender lender{
      OB_DEVICE_CUDA, [](const void* begin, size_t bytes, const char* of) { ob_twin_adopt(begin, bytes, of); },
      [](const void* begin) { ob_twin_release(begin); }, what_failed};
  return opbridge_twins::run_for_host(lender, function, name, {nparam, params, ndims, shapes, dtypes, nullptr, extra});
}
