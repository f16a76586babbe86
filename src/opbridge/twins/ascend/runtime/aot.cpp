// Runs kernels with the plain C call for a host that calls an operator.
#include <host_call.h>
#include <opbridge/abi.h>
#include <opbridge_ascend/aot.h>
#include <opbridge_ascend/device.h>
#include <opbridge_ascend/launch.h>

namespace opbridge_ascend {
namespace {

std::string what_failed() {
  const char* const reports = ob_ascend_take_reports();
  std::string text = reports != nullptr ? reports : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void adopt(const void* begin, size_t bytes, const char* name) {
  // What lies on a device has bounds already.
  if (ob_ascend_device_find(begin) == nullptr) ob_ascend_adopt(begin, bytes, name);
}

}  // namespace
}  // namespace opbridge_ascend

int ob_ascend_run_aot(ob_ascend_aot_function function, const char* name, int nparam, void** params, int* ndims,
                      int64_t** shapes, const char** dtypes, void* stream, void* extra) {
  ob_ascend_attach_host();
  const opbridge_twins::Lender lender{OB_DEVICE_NPU, opbridge_ascend::adopt, ob_ascend_release,
                                      opbridge_ascend::what_failed};
  return opbridge_twins::run_for_host(lender, function, name, {nparam, params, ndims, shapes, dtypes, stream, extra});
}
