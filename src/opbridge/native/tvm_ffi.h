// The part of tvm-ffi's C call that kernels use: `int f(void* handle, const Any* args, int32_t n_args, Any* result)`.
//
// The layouts are those of tvm/ffi/c_api.h, and of DLPack for tensors; a test compares them.  Compiling opbridge and
// the libraries that it builds thus does not need tvm-ffi.
#ifndef OPBRIDGE_NATIVE_TVM_FFI_H
#define OPBRIDGE_NATIVE_TVM_FFI_H

#include <opbridge/abi.h>

#include <cstddef>
#include <cstdint>

namespace opbridge::tvm_ffi {

// The type of an Any.  From kFirstObject on, it is a counted object, and the receiver of a result must release it.
enum TypeIndex : int32_t {
  kNone = 0,
  kInt = 1,
  kBool = 2,
  kFloat = 3,
  kDataType = 5,
  kTensorView = 7,
  kRawString = 8,
  kSmallString = 11,
  kFirstObject = 64,
  kString = 65,
  kError = 67,
  kFunction = 68,
  kShape = 69,
  kTensor = 70,
  kArray = 71,
  kList = 75,
};

// DLPack's codes, of those that kernels here can meet.
enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kExtension = 12 };

// DLPack's DLDevice, field by field.
struct Device {
  int32_t type;
  int32_t index;
};

// DLPack's DLDataType, field by field.
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

inline bool operator==(const DataType& a, const DataType& b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

// DLPack's DLTensor, field by field.  It belongs to the caller.
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements
  uint64_t byte_offset;
};

// The header of everything that is counted; strong and weak count share one word.
struct Object {
  uint64_t counts;
  int32_t type;
  uint32_t padding;
  void (*deleter)(void* self, int flags);
};

// A value and its type in 16 bytes.  The rules of the call decide who owns what it points to.
struct Any {
  int32_t type;
  uint32_t small_length;  // of a small string; zero for all else
  union {
    int64_t i;
    double d;
    void* pointer;
    const char* text;
    DataType dtype;
    char small[8];
  } v;
};

// Text or bytes after an Object, followed by a zero that `size` does not count.
struct Bytes {
  const char* data;
  size_t size;
};

// The fields of an error after its Object.
struct Error {
  Bytes kind, message, backtrace;
};

// The fields of a list after its Object: of Anys, or of a Shape's numbers.
struct Items {
  Any* data;
  int64_t size;
};

// The numbers of a Shape after its Object.
struct Numbers {
  const int64_t* data;
  size_t size;
};

using Function = int (*)(void* handle, const Any* args, int32_t n_args, Any* result);

// The payload of an object, which follows its header.
template <class T>
T& payload(void* object) {
  return *reinterpret_cast<T*>(static_cast<Object*>(object) + 1);
}

// A tensor in either form; null where the value is none.
inline const Tensor* tensor_in(const Any& value) {
  if (value.type == kTensorView) return static_cast<const Tensor*>(value.v.pointer);
  return value.type == kTensor ? &payload<Tensor>(value.v.pointer) : nullptr;
}

// Indexed by codes of abi.h.
inline constexpr DataType kDataTypes[OB_DTYPE_COUNT] = {
    {6, 8, 1},  {1, 8, 1},  {0, 8, 1},  {1, 16, 1}, {0, 16, 1}, {1, 32, 1}, {0, 32, 1},  {1, 64, 1},
    {0, 64, 1}, {2, 16, 1}, {4, 16, 1}, {2, 32, 1}, {2, 64, 1}, {5, 64, 1}, {5, 128, 1},
};

// The code of abi.h, or -1.
inline int32_t dtype_of(const DataType& type) {
  for (int32_t code = 0; code < OB_DTYPE_COUNT; ++code)
    if (kDataTypes[code] == type) return code;
  return -1;
}

}  // namespace opbridge::tvm_ffi

#endif
