// The compiler's own copies and fills: where memory is checked, calls that the checks see even of a few bytes.
#ifndef OPBRIDGE_TWIN_MEMORY_BUILTINS_H
#define OPBRIDGE_TWIN_MEMORY_BUILTINS_H

#include <opbridge_twin/thread.h>
#include <string.h>

// A template, because functions that the compiler may evaluate must call only such functions.
#define OB_TWIN_MEMORY_BUILTIN(NAME, From)                                                                \
  namespace opbridge_twin {                                                                               \
  template <class Bytes>                                                                                  \
  OB_TWIN_INLINE constexpr void* builtin_##NAME(void* to, From from, Bytes bytes) {                       \
    return __builtin_is_constant_evaluated() ? __builtin_##NAME(to, from, bytes) : NAME(to, from, bytes); \
  }                                                                                                       \
  }

OB_TWIN_MEMORY_BUILTIN(memcpy, const void*)
OB_TWIN_MEMORY_BUILTIN(memmove, const void*)
OB_TWIN_MEMORY_BUILTIN(memset, int)
#undef OB_TWIN_MEMORY_BUILTIN

#endif
