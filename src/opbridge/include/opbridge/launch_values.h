// Arithmetic for the functions that opbridge generates around bare kernels; not for direct use.
#ifndef OPBRIDGE_LAUNCH_VALUES_H
#define OPBRIDGE_LAUNCH_VALUES_H

#include <opbridge/kernel.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] launch {

template <class Tensor>
void* address(const Tensor& tensor) {
  return const_cast<void*>(static_cast<const void*>(tensor.data()));
}

// A missing tensor.
template <class Tensor>
void* address(const Optional<Tensor>& tensor) {
  return tensor ? address(*tensor) : nullptr;
}

// The value of an optional argument; fails if it is missing.
template <class T>
const T& given(const Optional<T>& argument, const char* name) {
  if (!argument) fail("the launch of the kernel needs '", name, "', which is None");
  return *argument;
}

// Floor division and its remainder, as in rules.
inline int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) fail("launch: division by zero");
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t modulo(int64_t a, int64_t b) { return a - floor_divide(a, b) * b; }
inline int64_t ceil_divide(int64_t a, int64_t b) { return -floor_divide(-a, b); }

}  // namespace launch
}  // namespace ob
#endif
