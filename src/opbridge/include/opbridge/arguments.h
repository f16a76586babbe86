// A kernel as the compiler knows it, and the arguments of a call.
#ifndef OPBRIDGE_ARGUMENTS_H
#define OPBRIDGE_ARGUMENTS_H

#include <opbridge/call.h>
#include <opbridge/tensor.h>

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

struct Call;

// The place where a C++ parameter finds its value.
struct Slot {
  const ob_arg* arg;  // attributes
  int32_t first;      // tensors: the index in params
  int32_t count;      // how many; 0 if the caller omitted it
  int64_t numel;      // of the first
};

using Invoker = int (*)(const Call& call, const Slot* slots);

// The signature of a kernel, as the compiler sees it.
struct Kernel {
  const ob_param* params;  // in C++ order
  const int32_t* order;    // their indices sorted: inputs, outputs, attributes
  int32_t n_inputs;
  int32_t n_outputs;
  int32_t n_attributes;
  const int32_t* dtypes;  // the types T; none for a plain function
  int32_t n_dtypes;
  const Invoker* invokers;  // for each T
  const int32_t* types;     // the dtype of each parameter, for each T; null if none depends on T in another way

  int32_t n_params() const { return n_inputs + n_outputs + n_attributes; }
};

// The arguments of the C call.
struct Call {
  const Kernel& kernel;
  const char* name;
  const ob_signature& signature;
  const ob_call* host;  // null under a foreign host
  int32_t nparam;
  void** params;
  const int* ndims;
  int64_t** shapes;
  void* stream;
  const ob_arg* args;
  int32_t n_args;
  int32_t n_inputs;
  const int32_t* dtypes;

  bool missing(int32_t i) const { return params[i] == nullptr && ndims[i] == 0; }

  const int64_t* strides(int32_t i) const {
    return host != nullptr && host->strides != nullptr ? host->strides[i] : nullptr;
  }

  int64_t numel(int32_t i) const {
    int64_t product = 1;
    for (int32_t dim = 0; dim < ndims[i]; ++dim) {
      product *= shapes[i][dim];
      __asm__("" : "+r"(product));  // prevents vector code by -O3 for a loop that runs once or twice
    }
    return product;
  }

  TensorView view(const Slot& slot, const int64_t* given_strides) const {
    const int32_t i = slot.first;
    return TensorView(params[i], shapes[i], given_strides, slot.numel, ndims[i], DType{dtypes[i]});
  }

  // The strides, computed if the caller provides none.
  [[gnu::noinline]] const int64_t* explicit_strides(int32_t i) const {
    if (const int64_t* given = strides(i)) return given;
    auto* packed = table<int64_t>(ndims[i]);
    int64_t stride = 1;
    for (int32_t dim = ndims[i] - 1; dim >= 0; --dim) {
      packed[dim] = stride;
      stride *= shapes[i][dim];
    }
    return packed;
  }
};

inline bool is_tensor(const ob_arg& arg) { return arg.kind == OB_ARG_TENSOR || arg.kind == OB_ARG_TENSORS; }

}  // namespace detail
}  // namespace ob
#endif
