// Everything that differs between the PyTorch versions we build against (2.10 to 2.15), in one place.
#ifndef OPBRIDGE_NATIVE_TORCH_COMPAT_H
#define OPBRIDGE_NATIVE_TORCH_COMPAT_H

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>

#define OPBRIDGE_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace opbridge::torch_adapter {

// Graph nodes became intrusively counted in 2.13.
#if OPBRIDGE_TORCH_AT_LEAST(2, 13)
template <class T>
using NodePtr = c10::intrusive_ptr<T>;

template <class T, class... Args>
NodePtr<T> make_node(Args&&... args) {
  return c10::make_intrusive<T>(std::forward<Args>(args)...);
}
#else
template <class T>
using NodePtr = std::shared_ptr<T>;

template <class T, class... Args>
NodePtr<T> make_node(Args&&... args) {
  return NodePtr<T>(new T(std::forward<Args>(args)...), torch::autograd::deleteNode);
}
#endif

// The current stream of a device as its own runtime knows it.
inline void* native_stream(at::Device device) {
#if OPBRIDGE_TORCH_AT_LEAST(2, 11)
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
#else
  // 2.10 tells the handle to Python alone.
  TORCH_CHECK(device.is_cuda(), "PyTorch 2.10 does not give the stream of a ", device.type(),
              " device; use 2.11 or newer");
  const pybind11::gil_scoped_acquire gil;
  const auto handle = pybind11::module_::import("torch._C").attr("_cuda_getCurrentRawStream")(int(device.index()));
  return reinterpret_cast<void*>(handle.cast<uintptr_t>());
#endif
}

}  // namespace opbridge::torch_adapter

#endif
