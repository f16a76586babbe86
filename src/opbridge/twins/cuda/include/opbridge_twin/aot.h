// A function with the plain C call, as a host on the CPU calls it: its tensors stand for device memory meanwhile.
#ifndef OPBRIDGE_TWIN_AOT_H
#define OPBRIDGE_TWIN_AOT_H

#include <stdint.h>

extern "C" {
typedef int (*ob_twin_aot_function)(int, void**, int*, int64_t**, const char**, void*, void*);

// Calls the function on the default stream, whatever the host's stream is.  Reports a failed CUDA call or a finding in
// the host's form; the device is usable afterwards.
int ob_twin_run_aot(ob_twin_aot_function function, const char* name, int nparam, void** params, int* ndims,
                    int64_t** shapes, const char** dtypes, void* stream, void* extra);
}

// For kernel.h: how its exported function calls the implementation.
#define OB_CALLED_BY_HOST ob_twin_run_aot

// Exports `name`, which calls `function`.
#define OPBRIDGE_TWIN_AOT(name, function)                                                                             \
  extern "C" __attribute__((visibility("default"))) int name(int nparam, void** params, int* ndims, int64_t** shapes, \
                                                             const char** dtypes, void* stream, void* extra) {        \
    return ob_twin_run_aot(function, #name, nparam, params, ndims, shapes, dtypes, stream, extra);                    \
  }

#endif  // OPBRIDGE_TWIN_AOT_H
