// Which device this library simulates: it is compiled once for each.
#ifndef OPBRIDGE_TORCH_DEVICE_ROW_H
#define OPBRIDGE_TORCH_DEVICE_ROW_H

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>

#ifdef OPBRIDGE_SIMULATES_CUDA
#define OPBRIDGE_KEY CUDA
#define OPBRIDGE_MODULE opbridge_cuda
#else
#define OPBRIDGE_KEY PrivateUse1
#define OPBRIDGE_MODULE opbridge_npu
#endif

namespace opbridge::simulated {

constexpr c10::DispatchKey kKey = c10::DispatchKey::OPBRIDGE_KEY;
constexpr c10::BackendComponent kBackend = c10::toBackendComponent(kKey);
constexpr c10::DispatchKey kSparseKey = c10::toRuntimePerBackendFunctionalityKey(c10::DispatchKey::Sparse, kBackend);
constexpr c10::DispatchKey kSparseCsrKey =
    c10::toRuntimePerBackendFunctionalityKey(c10::DispatchKey::SparseCsr, kBackend);
constexpr c10::DeviceType kDevice = c10::DeviceType::OPBRIDGE_KEY;

#ifdef OPBRIDGE_SIMULATES_CUDA
constexpr const char* kName = "cuda";
// The CUDA twin tells the pieces of memory apart by their addresses, so none is given twice.
constexpr bool kKeepsFreedMemory = false;
#else
constexpr const char* kName = "npu";
constexpr bool kKeepsFreedMemory = true;
#endif

}  // namespace opbridge::simulated

#endif
