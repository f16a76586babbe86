// The exported call: what OB_KERNEL's function does with its arguments.
#ifndef OPBRIDGE_RUN_H
#define OPBRIDGE_RUN_H

#include <opbridge/foreign_call.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

#if defined(OB_PARTS_LINKED)

int run(const Kernel& kernel, const char* name, const ob_signature& signature, Slot* slots, int nparam, void** params,
        const int* ndims, int64_t** shapes, const char** dtypes, void* stream, void* extra);

#else

// `extra` if it is opbridge's, null if it is another host's.
inline const ob_call* opbridge_host(void* extra) {
  uint64_t magic = 0;
  if (extra != nullptr) memcpy(&magic, extra, sizeof magic);
  return magic == OB_CALL_MAGIC ? static_cast<const ob_call*>(extra) : nullptr;
}

// No exception leaves it, except to MindSpore.
OB_HOT_PART int run(const Kernel& kernel, const char* name, const ob_signature& signature, Slot* slots, int nparam,
                    void** params, const int* ndims, int64_t** shapes, const char** dtypes, void* stream, void* extra) {
  const ob_call* host = opbridge_host(extra);
  if (host != nullptr && (host->version != OB_ABI_VERSION || host->size < sizeof(ob_call))) {
    // It is unknown how such a host reads a message.
    return report(name, nullptr, nullptr,
                  "built for another opbridge than the one that calls it; build the kernel again");
  }
  const bool made_for_mindspore = host == nullptr && ob_find_foreign_call != nullptr;
  const ob_foreign_call* foreign = made_for_mindspore ? ob_find_foreign_call(extra) : nullptr;
  const Frame frame(host, stream, false);
  try {
    Call call{kernel, name, signature, host, nparam, params, ndims, shapes, stream, nullptr, 0, 0, nullptr};
    if (host != nullptr) {
      call.args = host->args;
      call.n_args = host->n_args;
      call.n_inputs = host->n_inputs;
      call.dtypes = host->dtypes;
    } else {
      describe_foreign(call, dtypes, foreign);
    }
    const int32_t instance = bind(call, slots);
    if (kernel.types != nullptr) check_types(call, slots, kernel.types + instance * kernel.n_params());
    const int status = kernel.invokers[instance](call, slots);
    if (status != 0) fail_as("the kernel returned %d", status);
#if defined(__CUDACC__)
    check_launches();
#endif
    return 0;
  } catch (const std::exception& error) {
    return report(name, host, foreign, error.what());
  } catch (...) {
    return report(name, host, foreign, "an exception that is not a std::exception was thrown");
  }
}

#endif

}  // namespace detail
}  // namespace ob

#endif
