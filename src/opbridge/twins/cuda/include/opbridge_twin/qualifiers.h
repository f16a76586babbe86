// The CUDA keywords that C++ lacks, and the macros of a CUDA compiler.
#ifndef OPBRIDGE_TWIN_QUALIFIERS_H
#define OPBRIDGE_TWIN_QUALIFIERS_H

#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define __OPBRIDGE_CUDA_TWIN__ 1
// __CUDA_ARCH__ is left to the rewriting, which defines it in device code alone.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(count)
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
#define __cluster_dims__(...) \
  _Pragma("GCC error \"thread block clusters: not supported by the CUDA twin, which docs/cuda.md says more about\"")
#define CUDART_CB

// The part between the capture and the body of the lambda that a kernel's body becomes.  Clang expects the attribute
// before the specifier, GCC after it.  Without optimisation, a debugger must find the parameters of the function.
#ifndef __OPTIMIZE__
#define OB_TWIN_MUTABLE mutable
#elif defined(__clang__)
#define OB_TWIN_MUTABLE __attribute__((always_inline)) mutable
#else
#define OB_TWIN_MUTABLE mutable __attribute__((always_inline))
#endif
// A parameter of a kernel may have the name of one of these types.
#define OB_TWIN_INDICES                                                              \
  [[maybe_unused]] const ::uint3 threadIdx, [[maybe_unused]] const ::uint3 blockIdx, \
      [[maybe_unused]] const ::dim3 blockDim, [[maybe_unused]] const ::dim3 gridDim
#define OPBRIDGE_TWIN_KERNEL (OB_TWIN_INDICES) OB_TWIN_MUTABLE
// For a kernel with a guard: whether the thread certainly passes it; and the guard.
#define OPBRIDGE_TWIN_GUARDED_KERNEL (OB_TWIN_INDICES, const bool opbridge_twin_passed) OB_TWIN_MUTABLE
// For a kernel with a grid-stride loop: whether the thread runs one iteration, which is known to belong to it.
#define OPBRIDGE_TWIN_KERNEL_IN_TURNS \
  (OB_TWIN_INDICES, const bool opbridge_twin_passed, bool opbridge_twin_first) OB_TWIN_MUTABLE
#define OPBRIDGE_TWIN_GUARD (OB_TWIN_INDICES) __attribute__((always_inline))->bool
// Where the body holds lambdas without a capture or classes, which cannot see its parameters.
#define OPBRIDGE_TWIN_KERNEL_OF_VARIABLES (::uint3, ::uint3, ::dim3, ::dim3) OB_TWIN_MUTABLE

// Of a source that is compiled twice, the host's code is kept without checks alone: with them nobody calls it, and what
// is inline and not called is not compiled.  The macro is for sources that cannot have it so.
#if defined(OPBRIDGE_TWIN_TWICE) && defined(OPBRIDGE_TWIN_CHECKS) && !defined(OPBRIDGE_TWIN_WHOLE)
#define OPBRIDGE_TWIN_HOST inline
#define OPBRIDGE_TWIN_MAIN opbridge_twin_main
#else
#define OPBRIDGE_TWIN_HOST
#define OPBRIDGE_TWIN_MAIN main
#endif

// For a device function whose name host code calls: the call may mean another function of this name.
#if defined(OPBRIDGE_TWIN_CHECKS) || defined(OPBRIDGE_TWIN_TWICE)
#define OPBRIDGE_TWIN_DEVICE_ONLY(name) ::ob_twin_device_only(name);
#else
#define OPBRIDGE_TWIN_DEVICE_ONLY(name)
#endif

// Before the end of a kernel.
#ifdef OPBRIDGE_TWIN_CHECKS
#define OPBRIDGE_TWIN_RETURN return ::ob_twin_returned(::opbridge_twin::this_thread())
#else
#define OPBRIDGE_TWIN_RETURN return
#endif

#if defined(OPBRIDGE_TWIN_CHECKS) || defined(OPBRIDGE_TWIN_TWICE)
#define OB_TWIN_ANNOUNCED(announce, name, number) \
  __attribute__((constructor)) static void opbridge_twin_variable_##number() { announce(&name, sizeof name, #name); }
// Of a function's: a class within it may name it, and what a template of that class begins with runs before the
// program.
#define OPBRIDGE_TWIN_STATIC(name, number)         \
  struct opbridge_twin_static_##number {           \
    static bool announce() {                       \
      ob_twin_variable(&name, sizeof name, #name); \
      return true;                                 \
    }                                              \
  };                                               \
  static_cast<void>(&::opbridge_twin::announced<opbridge_twin_static_##number>);
#else
#define OB_TWIN_ANNOUNCED(announce, name, number)
#define OPBRIDGE_TWIN_STATIC(name, number)
#endif
#define OPBRIDGE_TWIN_VARIABLE(name, number) OB_TWIN_ANNOUNCED(ob_twin_variable, name, number)
#define OPBRIDGE_TWIN_CONSTANT(name, number) OB_TWIN_ANNOUNCED(ob_twin_constant, name, number)

#endif
