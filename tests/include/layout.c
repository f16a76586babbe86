/* Pins the layout of every struct in abi.h: a kernel built today must run under an opbridge of tomorrow. */
#include <opbridge/abi.h>

#ifdef __cplusplus
#define PIN(condition) static_assert(condition, #condition)
#else
#define PIN(condition) _Static_assert(condition, #condition)
#endif
#define AT(type, field, offset) PIN(offsetof(type, field) == (offset))

PIN(sizeof(void*) == 8);
PIN(OB_CALL_MAGIC == 0x4547444952424f50ull);
PIN(OB_ABI_VERSION == 1u);

AT(ob_arg, kind, 0);
AT(ob_arg, count, 4);
AT(ob_arg, v, 8);
PIN(sizeof(ob_arg) == 16);

AT(ob_call, magic, 0);
AT(ob_call, version, 8);
AT(ob_call, size, 12);
AT(ob_call, op, 16);
AT(ob_call, args, 24);
AT(ob_call, n_args, 32);
AT(ob_call, n_inputs, 36);
AT(ob_call, dtypes, 40);
AT(ob_call, strides, 48);
AT(ob_call, device_type, 56);
AT(ob_call, device_index, 60);
AT(ob_call, host, 64);
AT(ob_call, scratch, 72);
AT(ob_call, parallel, 80);
AT(ob_call, error, 88);
AT(ob_call, error_size, 96);
AT(ob_call, arg_names, 104);
PIN(sizeof(ob_call) == 112);

AT(ob_param, role, 0);
AT(ob_param, flags, 4);
AT(ob_param, type, 8);
PIN(sizeof(ob_param) == 12);

AT(ob_signature, version, 0);
AT(ob_signature, n_params, 4);
AT(ob_signature, params, 8);
AT(ob_signature, n_dtypes, 16);
AT(ob_signature, dtypes, 24);
AT(ob_signature, file, 32);
AT(ob_signature, line, 40);
PIN(sizeof(ob_signature) == 48);

PIN(OB_bool == 0 && OB_uint8 == 1 && OB_int8 == 2 && OB_uint16 == 3 && OB_int16 == 4 && OB_uint32 == 5);
PIN(OB_int32 == 6 && OB_uint64 == 7 && OB_int64 == 8 && OB_float16 == 9 && OB_bfloat16 == 10 && OB_float32 == 11);
PIN(OB_float64 == 12 && OB_complex64 == 13 && OB_complex128 == 14 && OB_DTYPE_COUNT == 15);
PIN(OB_DEVICE_CPU == 1 && OB_DEVICE_CUDA == 2 && OB_DEVICE_NPU == 3);
PIN(OB_ARG_NONE == 0 && OB_ARG_TENSOR == 1 && OB_ARG_TENSORS == 2 && OB_ARG_BOOL == 3 && OB_ARG_INT == 4);
PIN(OB_ARG_FLOAT == 5 && OB_ARG_STRING == 6 && OB_ARG_INTS == 7 && OB_ARG_FLOATS == 8 && OB_ARG_BOOLS == 9);
PIN(OB_ARG_DTYPE == 10 && OB_ARG_INT_ROWS == 11 && OB_ARG_FLOAT_ROWS == 12);
PIN(OB_PARAM_IN == 0 && OB_PARAM_OUT == 1 && OB_PARAM_INOUT == 2 && OB_PARAM_ATTR == 3);
PIN(OB_PARAM_OPTIONAL == 1 && OB_PARAM_LIST == 2 && OB_PARAM_STRIDED == 4);
PIN(OB_DTYPE_ANY == -1 && OB_DTYPE_TEMPLATE == -2);
