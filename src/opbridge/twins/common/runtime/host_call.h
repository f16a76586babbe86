// Functions with the plain C call, run for a host whose tensors lie in ordinary memory: what the twins have in common.
#ifndef OPBRIDGE_TWINS_HOST_CALL_H
#define OPBRIDGE_TWINS_HOST_CALL_H

#include <stddef.h>
#include <stdint.h>

#include <string>

namespace opbridge_twins {

using HostFunction = int (*)(int, void**, int*, int64_t**, const char**, void*, void*);

// What a host calls with, as abi.h has it.
struct HostCall {
  int nparam;
  void** params;
  int* ndims;
  int64_t** shapes;
  const char** dtypes;
  void* stream;
  void* extra;
};

// How one twin makes the host's memory its device's, and what it knows of failures.
struct Lender {
  int32_t device_type;
  void (*adopt)(const void* begin, size_t bytes, const char* name);
  void (*release)(const void* begin);
  // All that has failed since it was asked last; empty where nothing has.
  std::string (*what_failed)();
};

// Maps the tensors, calls the function, and reports a failure in the host's form.  The device is usable afterwards.
int run_for_host(const Lender& lender, HostFunction function, const char* name, const HostCall& of_host);

}  // namespace opbridge_twins

#endif
