#include <atomic>

#include "checks/checks.h"
#include "state.h"

namespace opbridge_twin {

namespace {

// The first error that ended the device; other threads need only see it some time.
std::atomic<int> device_error{cudaSuccess};

struct Text {
  cudaError_t error;
  const char* name;
  const char* text;
};

#define OB_TWIN_ERROR(name, text) {name, #name, text}
constexpr Text kTexts[] = {
    OB_TWIN_ERROR(cudaSuccess, "no error"),
    OB_TWIN_ERROR(cudaErrorInvalidValue, "invalid argument"),
    OB_TWIN_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    OB_TWIN_ERROR(cudaErrorInitializationError, "initialization error"),
    OB_TWIN_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    OB_TWIN_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    OB_TWIN_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    OB_TWIN_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    OB_TWIN_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    OB_TWIN_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    OB_TWIN_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    OB_TWIN_ERROR(cudaErrorMissingConfiguration, "a kernel was called without <<<grid, block>>>"),
    OB_TWIN_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    OB_TWIN_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    OB_TWIN_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    OB_TWIN_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    OB_TWIN_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    OB_TWIN_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    OB_TWIN_ERROR(cudaErrorInvalidSource, "device kernel image is invalid"),
    OB_TWIN_ERROR(cudaErrorFileNotFound, "file not found"),
    OB_TWIN_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    OB_TWIN_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    OB_TWIN_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    OB_TWIN_ERROR(cudaErrorNotReady, "device not ready"),
    OB_TWIN_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    OB_TWIN_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    OB_TWIN_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    OB_TWIN_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    OB_TWIN_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    OB_TWIN_ERROR(cudaErrorAssert, "device-side assert triggered"),
    OB_TWIN_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    OB_TWIN_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    OB_TWIN_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    OB_TWIN_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    OB_TWIN_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    OB_TWIN_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    OB_TWIN_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    OB_TWIN_ERROR(cudaErrorNotSupported, "operation not supported"),
    OB_TWIN_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    OB_TWIN_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    OB_TWIN_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    OB_TWIN_ERROR(cudaErrorGraphExecUpdateFailure, "the graph update was not performed"),
    OB_TWIN_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef OB_TWIN_ERROR

const Text* find(cudaError_t error) {
  for (const Text& text : kTexts) {
    if (text.error == error) return &text;
  }
  return nullptr;
}

}  // namespace

thread_local LastError last{cudaSuccess, nullptr, nullptr};
thread_local Caller driver_caller{nullptr, nullptr};

namespace {
std::atomic<bool> used{false};
}

void runtime_is_used() {
  if (driver_caller.name == nullptr) used.store(true, std::memory_order_relaxed);
}
bool is_runtime_used() { return used.load(std::memory_order_relaxed); }

cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) last.error = error;
  return error;
}

void poison(cudaError_t error) {
  int none = cudaSuccess;
  device_error.compare_exchange_strong(none, error);
  last.error = error;
}

cudaError_t poisoned() { return static_cast<cudaError_t>(device_error.load(std::memory_order_relaxed)); }

void launch_failed(cudaError_t error, const char* kernel, const void* made_at) { last = {error, kernel, made_at}; }

void report_unchecked_launch() {
  if (last.kernel == nullptr) return;
  checks::unchecked_error(last.kernel, cudaGetErrorName(last.error), last.made_at);
  last.kernel = nullptr;
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

const char* cudaGetErrorName(cudaError_t error) {
  const Text* text = find(error);
  return text != nullptr ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const Text* text = find(error);
  return text != nullptr ? text->text : "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last.error;
  last = {};
  last.error = poisoned();
  return error;
}

cudaError_t cudaPeekAtLastError() {
  last.kernel = nullptr;
  return last.error != cudaSuccess ? last.error : poisoned();
}

void ob_twin_clear_errors() {
  device_error = cudaSuccess;
  last = {};
}
