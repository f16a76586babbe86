// The header for kernels: C++17, header only, no framework header.
//
//   template <class T>
//   void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
//     ob::parallel_for(out.numel(), [=](int64_t i) { out[i] = x[i] + T(alpha) * y[i]; });
//   }
//   OB_KERNEL(scaled_add, float, double)
//
// OB_KERNEL(name) exports a plain function, OB_KERNEL(name, T...) a template, one instantiation for each T.  In and
// InOut parameters take the schema's tensors in order, Out its outputs, all others its remaining arguments.
#ifndef OPBRIDGE_KERNEL_H
#define OPBRIDGE_KERNEL_H

#include <opbridge/half.h>
#include <opbridge/param.h>
#include <opbridge/run.h>
// opbridge leaves it out for sources that do not mention its names.
#if !defined(OB_WITHOUT_MATH)
#include <opbridge/math.h>
#endif
#if !defined(__CUDACC__)
#include <opbridge/map.h>
#include <opbridge/parallel.h>
#endif

namespace ob {
namespace [[gnu::visibility("hidden")]] detail {

// A function's parameters as tables, and the call that fills them.
template <class F>
struct Function;

template <class R, class... A>
struct Function<R (*)(A...)> {
  // Clang needs the sizes of arrays in constant expressions.
  static constexpr bool is_context[sizeof...(A) + 1] = {std::is_same<std::decay_t<A>, Context>::value..., false};
  static constexpr ob_param all_specs[sizeof...(A) + 1] = {Param<std::decay_t<A>>::spec..., {}};

  // The slot of a C++ parameter; a Context takes none.
  static constexpr int32_t slot_of(size_t parameter) {
    int32_t slot = 0;
    for (size_t i = 0; i < parameter; ++i) slot += !is_context[i];
    return slot;
  }

  static constexpr int32_t n_params = slot_of(sizeof...(A));

  static constexpr ob_param spec(int32_t slot) {
    size_t i = 0;
    while (is_context[i] || slot_of(i) != slot) ++i;
    return all_specs[i];
  }

  template <auto function>
  static int invoke(const Call& call, const Slot* slots) {
    return invoke<function>(call, slots, std::index_sequence_for<A...>());
  }

  template <auto function, size_t... I>
  static int invoke(const Call& call, const Slot* slots, std::index_sequence<I...>) {
    if constexpr (std::is_void<R>::value) {
      function(Param<std::decay_t<A>>::make(call, slots[slot_of(I)])...);
      return 0;
    } else if constexpr (std::is_same<R, int>::value) {
      return function(Param<std::decay_t<A>>::make(call, slots[slot_of(I)])...);
#if defined(__CUDACC__)
    } else if constexpr (std::is_same<R, cudaError_t>::value) {
      check_cuda(function(Param<std::decay_t<A>>::make(call, slots[slot_of(I)])...), "the kernel returned an error");
      return 0;
#endif
    } else {
      const R status = function(Param<std::decay_t<A>>::make(call, slots[slot_of(I)])...);
      if (!status.ok()) fail(status.message());
      return 0;
    }
  }
};

// noexcept is part of a function's type since C++17; kernels may have it.
template <class R, class... A>
struct Function<R (*)(A...) noexcept> : Function<R (*)(A...)> {};

// An array that may be empty, which C++ arrays may not.
template <class T, int32_t n>
struct Table {
  T items[n > 0 ? n : 1];
};

// Everything that OB_KERNEL exports for one kernel.  T is void if the kernel is a plain function.
template <class Functions, class First, class... Rest>
struct Export {
  template <class T>
  using FunctionOf = Function<std::decay_t<decltype(Functions::template function<T>)>>;

  static constexpr bool is_template = !std::is_void<First>::value;
  static constexpr int32_t n_instances = 1 + sizeof...(Rest);
  static constexpr int32_t n_params = FunctionOf<First>::n_params;
  static constexpr Invoker invokers[n_instances] = {
      &FunctionOf<First>::template invoke<Functions::template function<First>>,
      &FunctionOf<Rest>::template invoke<Functions::template function<Rest>>...,
  };

  static constexpr Table<int32_t, n_instances> make_dtypes() {
    if constexpr (is_template) {
      return {{dtype_of<First>.code, dtype_of<Rest>.code...}};
    } else {
      return {};
    }
  }
  static constexpr auto dtypes = make_dtypes();

  // The parameter in instantiation k.
  static constexpr ob_param spec(int32_t k, int32_t p) {
    constexpr ob_param (*specs[])(int32_t) = {&FunctionOf<First>::spec, &FunctionOf<Rest>::spec...};
    return specs[k](p);
  }

  static constexpr auto make_types() {
    Table<int32_t, n_instances * n_params> types{};
    for (int32_t k = 0; k < n_instances; ++k) {
      for (int32_t p = 0; p < n_params; ++p) types.items[k * n_params + p] = spec(k, p).type;
    }
    return types;
  }
  static constexpr auto types = make_types();

  // The parameter in the signature: T if its type is T, open if it depends on T in another way.
  static constexpr ob_param merged(int32_t p) {
    ob_param param = spec(0, p);
    const bool is_tensor = param.role != OB_PARAM_ATTR;
    bool is_t = is_template && is_tensor, is_fixed = true;
    for (int32_t k = 0; k < n_instances; ++k) {
      is_t = is_t && spec(k, p).type == dtypes.items[k];
      is_fixed = is_fixed && spec(k, p).type == param.type;
    }
    if (is_t) {
      param.type = OB_DTYPE_TEMPLATE;
    } else if (!is_fixed) {
      param.type = is_tensor ? int32_t{OB_DTYPE_ANY} : int32_t{OB_ARG_NONE};
    }
    return param;
  }

  static constexpr auto make_params() {
    Table<ob_param, n_params> params{};
    for (int32_t p = 0; p < n_params; ++p) params.items[p] = merged(p);
    return params;
  }
  static constexpr auto params = make_params();

  static constexpr const int32_t* dependent_types() {
    for (int32_t p = 0; p < n_params; ++p) {
      if (params.items[p].type == OB_DTYPE_ANY && spec(0, p).type != OB_DTYPE_ANY) return types.items;
    }
    return nullptr;
  }

  // Inputs, outputs, attributes.
  static constexpr int32_t group(int32_t p) {
    const int32_t role = params.items[p].role;
    return role == OB_PARAM_ATTR ? 2 : role == OB_PARAM_OUT ? 1 : 0;
  }

  static constexpr int32_t count(int32_t wanted) {
    int32_t n = 0;
    for (int32_t p = 0; p < n_params; ++p) n += group(p) == wanted;
    return n;
  }

  static constexpr auto make_order() {
    Table<int32_t, n_params> order{};
    int32_t at = 0;
    for (int32_t wanted = 0; wanted < 3; ++wanted) {
      for (int32_t p = 0; p < n_params; ++p) {
        if (group(p) == wanted) order.items[at++] = p;
      }
    }
    return order;
  }
  static constexpr auto order = make_order();

  static constexpr bool tells_type() {
    bool tells = !is_template;
    for (int32_t p = 0; p < n_params; ++p) tells = tells || params.items[p].type == OB_DTYPE_TEMPLATE;
    return tells;
  }
  static_assert(tells_type(),
                "OB_KERNEL: no parameter is a tensor of T, so that a call could not tell which T to take");

  static constexpr ob_signature signature(const char* file, int32_t line) {
    return {OB_ABI_VERSION, n_params, params.items, is_template ? n_instances : 0, dtypes.items, file, line};
  }

  static constexpr Kernel kernel{
      params.items, order.items,      count(0), count(1), count(2), dtypes.items, is_template ? n_instances : 0,
      invokers,     dependent_types()};
};

}  // namespace detail
}  // namespace ob

#define OB_KERNEL(...) OB_ONE_OR_MANY(OB_KERNEL_PLAIN, OB_KERNEL_TEMPLATE, __VA_ARGS__)(__VA_ARGS__)

#define OB_KERNEL_PLAIN(name)               \
  struct ob_functions_of_##name {           \
    template <class>                        \
    static constexpr auto function = &name; \
  };                                        \
  OB_EXPORT(name, void)

#define OB_KERNEL_TEMPLATE(name, ...)          \
  struct ob_functions_of_##name {              \
    template <class T>                         \
    static constexpr auto function = &name<T>; \
  };                                           \
  OB_EXPORT(name, __VA_ARGS__)

// Runs the kernel for its host: a twin maps the host's tensors as device memory and reports findings.
#if !defined(OB_CALLED_BY_HOST)
#define OB_CALLED_BY_HOST(function, name, nparam, params, ndims, shapes, dtypes, stream, extra) \
  function(nparam, params, ndims, shapes, dtypes, stream, extra)
#endif

// The C function has another name in C++, because the kernel is called `name`; its symbol is `name`.
#define OB_EXPORT(name, ...)                                                                                           \
  extern "C" {                                                                                                         \
  __attribute__((visibility("default"))) extern const ob_signature name##_ob_signature;                                \
  const ob_signature name##_ob_signature =                                                                             \
      ::ob::detail::Export<ob_functions_of_##name, __VA_ARGS__>::signature(__FILE__, __LINE__);                        \
  __attribute__((visibility("default"))) int ob_call_of_##name(                                                        \
      int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,                      \
      void* extra) __asm__(OB_STRING(__USER_LABEL_PREFIX__) #name);                                                    \
  static int ob_run_##name(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream, \
                           void* extra) {                                                                              \
    using Export = ::ob::detail::Export<ob_functions_of_##name, __VA_ARGS__>;                                          \
    ::ob::detail::Slot slots[Export::n_params + 1];                                                                    \
    return ::ob::detail::run(Export::kernel, #name, name##_ob_signature, slots, nparam, params, ndims, shapes, dtypes, \
                             stream, extra);                                                                           \
  }                                                                                                                    \
  int ob_call_of_##name(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,    \
                        void* extra) {                                                                                 \
    return OB_CALLED_BY_HOST(ob_run_##name, #name, nparam, params, ndims, shapes, dtypes, stream, extra);              \
  }                                                                                                                    \
  }

#endif
