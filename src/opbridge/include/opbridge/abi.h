/* The C call of the waist: what every kernel exports and every host calls.
 *
 *   int f(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream, void* extra)
 *
 * Parameters are the tensors of the operator's schema in order (a tensor list takes one slot for each of its tensors,
 * a missing optional tensor one slot with a null pointer and rank 0), then the outputs that no argument aliases.
 * A return value other than 0 is a failure.  Hosts other than opbridge may pass anything as `extra`; opbridge passes
 * an `ob_call`, which a kernel recognises by its magic number.
 *
 * This file is C, includes no framework, and only ever grows at the end of a struct: a reader checks `size`.
 */
#ifndef OPBRIDGE_ABI_H
#define OPBRIDGE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OB_ABI_VERSION 1u
#define OB_CALL_MAGIC 0x4547444952424f50ull /* the bytes of "POBRIDGE" in memory order on little-endian machines */

/* Every element type, listed once: code, name on the wire, bytes. */
#define OB_FOR_EACH_DTYPE(X) \
  X(0, bool, 1)              \
  X(1, uint8, 1)             \
  X(2, int8, 1)              \
  X(3, uint16, 2)            \
  X(4, int16, 2)             \
  X(5, uint32, 4)            \
  X(6, int32, 4)             \
  X(7, uint64, 8)            \
  X(8, int64, 8)             \
  X(9, float16, 2)           \
  X(10, bfloat16, 2)         \
  X(11, float32, 4)          \
  X(12, float64, 8)          \
  X(13, complex64, 8)        \
  X(14, complex128, 16)

enum {
#define OB_DTYPE_ENUM(code, name, bytes) OB_##name = code,
  OB_FOR_EACH_DTYPE(OB_DTYPE_ENUM)
#undef OB_DTYPE_ENUM
      OB_DTYPE_COUNT
};

enum { OB_DEVICE_CPU = 1, OB_DEVICE_CUDA = 2, OB_DEVICE_NPU = 3 };

typedef int (*ob_kernel)(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                         void* extra);

/* One argument of the schema, tensors included, in schema order. */
enum {
  OB_ARG_NONE = 0,    /* a missing attribute; a missing tensor keeps its kind, and its param is null */
  OB_ARG_TENSOR = 1,  /* v.first: its index in params */
  OB_ARG_TENSORS = 2, /* v.first and count */
  OB_ARG_BOOL = 3,    /* v.i */
  OB_ARG_INT = 4,     /* v.i */
  OB_ARG_FLOAT = 5,   /* v.d */
  OB_ARG_STRING = 6,  /* v.s, zero-terminated, and count bytes */
  OB_ARG_INTS = 7,    /* v.ints and count */
  OB_ARG_FLOATS = 8,  /* v.floats and count */
  OB_ARG_BOOLS = 9,   /* v.bools and count */
  OB_ARG_DTYPE = 10,  /* v.i: a dtype code */
  /* Lists of lists; v.ints: how many, the length of each, then the values of all, floats as their bits.  count: of all
     these words. */
  OB_ARG_INT_ROWS = 11,
  OB_ARG_FLOAT_ROWS = 12
};

/* One argument as a kernel reads it: `kind` says which member of `v` holds it, and `count` how many it stands for. */
typedef struct ob_arg {
  int32_t kind;
  int32_t count;
  union {
    int64_t i;
    double d;
    const char* s;
    const int64_t* ints;
    const double* floats;
    const uint8_t* bools;
    int64_t first;
  } v;
} ob_arg;

/* What opbridge passes as `extra`. */
typedef struct ob_call {
  uint64_t magic;
  uint32_t version;
  uint32_t size;      /* sizeof(ob_call) of the host */
  const char* op;     /* "mylib::scaled_add", for messages */
  const ob_arg* args; /* every argument of the schema */
  int32_t n_args;
  int32_t n_inputs;        /* params before the outputs */
  const int32_t* dtypes;   /* a dtype code for each param */
  int64_t* const* strides; /* in elements, for each param; null where everything is contiguous */
  int32_t device_type;     /* OB_DEVICE_* */
  int32_t device_index;
  void* host;                                 /* for the two functions below */
  void* (*scratch)(void* host, size_t bytes); /* 64-byte aligned, valid until the call returns; null: out of memory */
  /* Runs body(state, begin, end) over [0, n) in pieces of at least `grain`, returns when all are done. `body` must not
   * throw. Null: the kernel's loops run on the calling thread. */
  void (*parallel)(void* host, int64_t n, int64_t grain, void (*body)(void* state, int64_t begin, int64_t end),
                   void* state);
  char* error; /* where a failing kernel leaves its message */
  uint64_t error_size;
  const char* const* arg_names; /* of args, for messages; may be null */
} ob_call;

/* What a kernel written on kernel.h says of itself, exported as `<symbol>_ob_signature`. */
enum { OB_PARAM_IN = 0, OB_PARAM_OUT = 1, OB_PARAM_INOUT = 2, OB_PARAM_ATTR = 3 };
enum { OB_PARAM_OPTIONAL = 1, OB_PARAM_LIST = 2, OB_PARAM_STRIDED = 4 };
enum { OB_DTYPE_ANY = -1, OB_DTYPE_TEMPLATE = -2 }; /* -2: the kernel's T, one of `dtypes` */

/* One C++ parameter as a kernel declares it, for hosts to hold against the schema before any call. */
typedef struct ob_param {
  int32_t role;  /* OB_PARAM_IN ... */
  int32_t flags; /* OB_PARAM_OPTIONAL | ... */
  int32_t type;  /* tensors: a dtype code, OB_DTYPE_ANY or OB_DTYPE_TEMPLATE; attributes: an OB_ARG_* kind, or
                    OB_ARG_NONE where any scalar is accepted */
} ob_param;

/* A constant of the library that exports it: a host may keep pointers into it for as long as the library is open. */
typedef struct ob_signature {
  uint32_t version; /* OB_ABI_VERSION of the kernel */
  int32_t n_params;
  const ob_param* params; /* the kernel's C++ parameters in order */
  int32_t n_dtypes;
  const int32_t* dtypes; /* the instantiations of T */
  const char* file;
  int32_t line;
} ob_signature;

#ifdef __cplusplus
}
#endif
#endif
