// A function with the plain C call, as a host calls it: its tensors stand for global memory meanwhile.
#ifndef OPBRIDGE_ASCEND_AOT_H
#define OPBRIDGE_ASCEND_AOT_H

#include <stdint.h>

extern "C" {
typedef int (*ob_ascend_aot_function)(int, void**, int*, int64_t**, const char**, void*, void*);

// Calls it, and tells what the checks have found as the host expects a failure.
int ob_ascend_run_aot(ob_ascend_aot_function function, const char* name, int nparam, void** params, int* ndims,
                      int64_t** shapes, const char** dtypes, void* stream, void* extra);
}

// For kernel.h: how its exported function calls the implementation.
#define OB_CALLED_BY_HOST ob_ascend_run_aot

// Exports `name`, which calls `function`.
#define OPBRIDGE_TWIN_AOT(name, function)                                                                             \
  extern "C" __attribute__((visibility("default"))) int name(int nparam, void** params, int* ndims, int64_t** shapes, \
                                                             const char** dtypes, void* stream, void* extra) {        \
    return ob_ascend_run_aot(function, #name, nparam, params, ndims, shapes, dtypes, stream, extra);                  \
  }

#endif
