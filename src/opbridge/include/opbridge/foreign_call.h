// Calls by hosts other than opbridge, and the report of a failure to any host.
#ifndef OPBRIDGE_FOREIGN_CALL_H
#define OPBRIDGE_FOREIGN_CALL_H

#include <opbridge/bind.h>
#include <opbridge/foreign.h>
#if defined(__CUDACC__)
#include <opbridge/cuda.h>
#endif

// Null, unless the library is made for MindSpore: then a second source has the definition that counts.
extern "C" {
__attribute__((weak, visibility("hidden"))) ob_foreign_lookup ob_find_foreign_call = nullptr;
}

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

#if defined(OB_PARTS_LINKED)

OB_COLD int report(const char* kernel, const ob_call* host, const ob_foreign_call* foreign, const char* what);
OB_COLD void describe_foreign(Call& call, const char** dtypes, const ob_foreign_call* foreign);

#else

OB_PART int report(const char* kernel, const ob_call* host, const ob_foreign_call* foreign, const char* what) {
#if defined(__CUDACC__)
  cudaGetLastError();  // clears the error, which the next call would report otherwise
#endif
  if (foreign != nullptr) {
    // MindSpore passes exceptions to Python, but only the number of a return value.
    Error error;
    error.print("%s: %s", kernel, what);
    throw error;
  }
  if (host != nullptr && host->error != nullptr) {
    snprintf(host->error, host->error_size, "%s: %s", kernel, what);
  } else {
    fprintf(stderr, "opbridge: %s: %s\n", kernel, what);
  }
  return 1;
}

// MindSpore writes "bool" or "bool_", and "none" for a missing tensor.
OB_PART int32_t foreign_dtype(const char* name, int32_t param) {
  if (strcmp(name, "bool_") == 0) return OB_bool;
  if (strcmp(name, "none") == 0) return -1;
  int32_t code = 0;
  while (code < OB_DTYPE_COUNT && strcmp(name, DType{code}.name()) != 0) ++code;
  if (code == OB_DTYPE_COUNT) fail_as("params[%d] has the dtype '%s', which no kernel takes", param, name);
  return code;
}

// A foreign host's call in opbridge's terms: tensors, inputs first, and the attributes where it is MindSpore with a
// block of them.
OB_PART void describe_foreign(Call& call, const char** dtypes, const ob_foreign_call* foreign) {
  if (foreign != nullptr && foreign->error != nullptr) fail_as("%s", foreign->error);
  auto* codes = table<int32_t>(call.nparam);
  for (int32_t i = 0; i < call.nparam; ++i) codes[i] = foreign_dtype(dtypes[i], i);
  const Kernel& kernel = call.kernel;
  const ob_param* params = kernel.params;
  const int32_t n_tensors = kernel.n_inputs + kernel.n_outputs;
  int32_t lists = 0;
  for (int32_t k = 0; k < n_tensors; ++k) lists += (params[kernel.order[k]].flags & OB_PARAM_LIST) != 0;
  if (lists > 1) fail_as("the kernel takes %d lists of tensors, and the caller cannot say where each ends", lists);

  auto* args = table<ob_arg>(kernel.n_inputs + kernel.n_attributes);
  int32_t first = 0;
  for (int32_t k = 0; k < kernel.n_inputs; ++k) {
    // The only list takes the remaining tensors.
    const bool is_list = params[kernel.order[k]].flags & OB_PARAM_LIST;
    const int32_t count = is_list ? call.nparam - n_tensors + 1 : 1;
    args[k] = ob_arg{is_list ? OB_ARG_TENSORS : OB_ARG_TENSOR, count, {first}};
    first += count;
  }
  for (int32_t k = 0; k < kernel.n_attributes; ++k) {
    const bool given = foreign != nullptr && k < foreign->n_attributes;
    args[kernel.n_inputs + k] = given ? foreign->attributes[k] : ob_arg{OB_ARG_NONE, 0, {0}};
  }
  call.args = args;
  call.n_args = kernel.n_inputs + kernel.n_attributes;
  call.n_inputs = first;
  call.dtypes = codes;
  if (call.nparam < n_tensors - lists) fail_count(call);
}

#endif

}  // namespace detail
}  // namespace ob
#endif
