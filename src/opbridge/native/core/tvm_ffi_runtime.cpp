#include "tvm_ffi_runtime.h"

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>

namespace opbridge::tvm_ffi {
namespace {

template <class F>
void find(void* library, const std::string& path, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function)
    throw std::runtime_error(path + " has no " + name +
                             "; it is not a current libtvm_ffi.so: pip install --upgrade apache-tvm-ffi");
}

}  // namespace

Runtime::Runtime(const std::string& path) {
  // For all to see, as tvm-ffi's own package loads it: libraries use it without being linked to it.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw std::runtime_error(dlerror());
  find(library, path, "TVMFFIErrorMoveFromRaised", move_from_raised_);
  find(library, path, "TVMFFIObjectDecRef", dec_ref_);
  find(library, path, "TVMFFIFunctionGetGlobal", get_global_);
  find(library, path, "TVMFFIFunctionCall", call_);
  find(library, path, "TVMFFIEnvSetStream", set_stream_);
}

const Runtime& Runtime::at(const std::string& path) {
  static const auto& runtime = *new Runtime(path);  // kernels may outlive what is destroyed at the end of a process
  return runtime;
}

Owned Runtime::call_global(const char* name, std::vector<Any> args) const {
  const Bytes key{name, std::strlen(name)};
  Owned function(*this), result(*this);
  if (get_global_(&key, &function.any.v.pointer)) throw std::runtime_error(take_error());
  if (!function.any.v.pointer) throw std::runtime_error(std::string("libtvm_ffi.so has no function ") + name);
  function.any.type = kFunction;
  if (call_(function.any.v.pointer, args.data(), static_cast<int32_t>(args.size()), &result.any))
    throw std::runtime_error(take_error());
  return result;
}

std::string Runtime::take_error() const {
  Owned error(*this);
  move_from_raised_(&error.any.v.pointer);
  if (!error.any.v.pointer) return "it failed and left no error";
  error.any.type = kError;
  const auto& [kind, message, backtrace] = payload<Error>(error.any.v.pointer);
  return std::string(kind.data, kind.size) + ": " + std::string(message.data, message.size);
}

void* Runtime::exchange_stream(Device device, void* stream) const {
  void* old = nullptr;
  if (set_stream_(device.type, device.index, stream, &old)) throw std::runtime_error(take_error());
  return old;
}

}  // namespace opbridge::tvm_ffi
