// The common part of the twin's CUDA libraries: compares the memory of their arguments with that of the device.
#ifndef OPBRIDGE_TWIN_LIBRARIES_LIBRARY_CALL_H
#define OPBRIDGE_TWIN_LIBRARIES_LIBRARY_CALL_H

#include <opbridge_twin/runtime.h>
#include <stddef.h>

namespace opbridge_twin {

// One call by a program; what it touches beyond an allocation is reported at the program's line.
class LibraryCall {
 public:
  LibraryCall(const char* how, const void* where) : how_(how), where_(where) {}

  template <class T>
  bool reads(const T* begin, size_t count) const {
    return access(begin, count * sizeof(T), 0);
  }
  template <class T>
  bool writes(T* begin, size_t count) const {
    return access(begin, count * sizeof(T), 1);
  }
  bool access(const void* begin, size_t bytes, int writes) const {
    return bytes == 0 || (begin != nullptr && ob_twin_library_access(begin, bytes, writes, how_, where_) != 0);
  }

 private:
  const char* how_;
  const void* where_;
};

}  // namespace opbridge_twin

#define OB_TWIN_LIBRARY_CALL \
  const opbridge_twin::LibraryCall call { __func__, __builtin_return_address(0) }

#endif
