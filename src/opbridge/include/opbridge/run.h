// The exported call: what OB_KERNEL's function does with its arguments.
#ifndef OPBRIDGE_RUN_H
#define OPBRIDGE_RUN_H

#include <opbridge/bind.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

OB_COLD inline int report(const char* kernel, const ob_call* host, const char* what) {
  if (host != nullptr && host->error != nullptr) {
    snprintf(host->error, host->error_size, "%s: %s", kernel, what);
  } else {
    fprintf(stderr, "opbridge: %s: %s\n", kernel, what);
  }
  return 1;
}

// A foreign host's call in opbridge's terms: tensors, inputs first, and no attribute.
OB_COLD inline void describe_foreign(Call& call, const char** dtypes) {
  auto* codes = scratch<int32_t>(call.nparam);
  for (int32_t i = 0; i < call.nparam; ++i) {
    codes[i] = 0;
    while (codes[i] < OB_DTYPE_COUNT && strcmp(dtypes[i], DType{codes[i]}.name()) != 0) ++codes[i];
    if (codes[i] == OB_DTYPE_COUNT) fail_as("params[%d] has the dtype '%s', which no kernel takes", i, dtypes[i]);
  }
  const Kernel& kernel = call.kernel;
  const ob_param* params = kernel.params;
  const int32_t n_tensors = kernel.n_inputs + kernel.n_outputs;
  int32_t lists = 0;
  for (int32_t k = 0; k < n_tensors; ++k) lists += (params[kernel.order[k]].flags & OB_PARAM_LIST) != 0;
  if (lists > 1) fail_as("the kernel takes %d lists of tensors, and the caller cannot say where each ends", lists);

  auto* args = scratch<ob_arg>(kernel.n_inputs + kernel.n_attributes);
  int32_t first = 0;
  for (int32_t k = 0; k < kernel.n_inputs; ++k) {
    // The one list takes what the other tensors leave.
    const bool is_list = params[kernel.order[k]].flags & OB_PARAM_LIST;
    const int32_t count = is_list ? call.nparam - n_tensors + 1 : 1;
    args[k] = ob_arg{is_list ? OB_ARG_TENSORS : OB_ARG_TENSOR, count, {first}};
    first += count;
  }
  for (int32_t k = 0; k < kernel.n_attributes; ++k) args[kernel.n_inputs + k] = ob_arg{OB_ARG_NONE, 0, {0}};
  call.args = args;
  call.n_args = kernel.n_inputs + kernel.n_attributes;
  call.n_inputs = first;
  call.dtypes = codes;
  if (call.nparam < n_tensors - lists) fail_count(call);
}

// `extra` where it is opbridge's, null where it is somebody else's.
inline const ob_call* opbridge_host(void* extra) {
  uint64_t magic = 0;
  if (extra != nullptr) memcpy(&magic, extra, sizeof magic);
  return magic == OB_CALL_MAGIC ? static_cast<const ob_call*>(extra) : nullptr;
}

// Nothing thrown inside gets out of it.
template <const Kernel& kernel>
int run(const char* name, const ob_signature& signature, Slot* slots, int nparam, void** params, const int* ndims,
        int64_t** shapes, const char** dtypes, void* stream, void* extra) noexcept {
  const ob_call* host = opbridge_host(extra);
  if (host != nullptr && (host->version != OB_ABI_VERSION || host->size < sizeof(ob_call))) {
    // Where such a host looks for a message is unknown.
    return report(name, nullptr, "built for another opbridge than the one that calls it; build the kernel again");
  }
  const Frame frame(host, false);
  try {
    Call call{kernel, name, signature, host, nparam, params, ndims, shapes, stream, nullptr, 0, 0, nullptr};
    if (host != nullptr) {
      call.args = host->args;
      call.n_args = host->n_args;
      call.n_inputs = host->n_inputs;
      call.dtypes = host->dtypes;
    } else {
      describe_foreign(call, dtypes);
    }
    const int32_t instance = bind<kernel>(call, slots);
    if (kernel.check_dependent != nullptr) kernel.check_dependent(call, slots, instance);
    const int status = kernel.invokers[instance](call, slots);
    if (status != 0) fail_as("the kernel returned %d", status);
    return 0;
  } catch (const std::exception& error) {
    return report(name, host, error.what());
  } catch (...) {
    return report(name, host, "an exception that is no std::exception was thrown");
  }
}

}  // namespace detail
}  // namespace ob
#endif
