// libtvm_ffi.so, which tvm-ffi's kernels report errors through and whose loader opens them.
#ifndef OPBRIDGE_NATIVE_CORE_TVM_FFI_RUNTIME_H
#define OPBRIDGE_NATIVE_CORE_TVM_FFI_RUNTIME_H

#include <string>
#include <vector>

#include "../tvm_ffi.h"

namespace opbridge::tvm_ffi {

class Runtime;

// A value with a reference that must be released.
class Owned {
 public:
  explicit Owned(const Runtime& runtime) : runtime_(&runtime) {}
  Owned(Owned&& other) noexcept : any(other.any), runtime_(other.runtime_) { other.any = {}; }
  Owned& operator=(Owned&&) = delete;
  ~Owned();

  Any any{};

 private:
  const Runtime* runtime_;
};

// The functions of libtvm_ffi that are called, found once; the library stays open for as long as the process lives.
class Runtime {
 public:
  // The one of this process; throws a std::runtime_error where the library at `path` does not load or is no such one.
  // Any later path is that of the same library, or leads to a second copy that nobody should have.
  static const Runtime& at(const std::string& path);

  // What a global function of the library returns; throws its error.
  Owned call_global(const char* name, std::vector<Any> args) const;

  // What the last call that failed in this thread has to say: "ValueError: x is empty".
  std::string take_error() const;

  void release(void* object) const { dec_ref_(object); }

  // For the length of a call: launches of kernels go to this stream.
  void* exchange_stream(Device device, void* stream) const;

 private:
  explicit Runtime(const std::string& path);

  void (*move_from_raised_)(void** error);
  int (*dec_ref_)(void* object);
  int (*get_global_)(const Bytes* name, void** function);
  int (*call_)(void* function, Any* args, int32_t n_args, Any* result);
  int (*set_stream_)(int32_t device_type, int32_t device_index, void* stream, void** old);
};

inline Owned::~Owned() {
  if (any.type >= kFirstObject) runtime_->release(any.v.pointer);
}

}  // namespace opbridge::tvm_ffi

#endif
