// NV_IF_TARGET and similar macros in device code: the rewriter uses these names in functions that the host cannot call.
// In all others, the macros see the host pass of the compiler, as __CUDA_ARCH__ does.
#ifndef OPBRIDGE_TWIN_TARGETS_H
#define OPBRIDGE_TWIN_TARGETS_H

// What else libcu++ asks of nvcc: lambdas of device code are C++'s own here.
#define __nv_is_extended_device_lambda_closure_type(type) false
#define __nv_is_extended_host_device_lambda_closure_type(type) false
#define __nv_is_extended_device_lambda_with_preserved_return_type(type) false
#define CCCL_DISABLE_NVFP8_SUPPORT
#define CCCL_DISABLE_PDL
// Which of its sizes a kernel takes; the host's side asks the device for the same.
#define CUB_PTX_ARCH 800

#define OB_TWIN_TARGET___NV_PROVIDES_SM_35 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_37 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_50 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_52 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_53 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_60 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_61 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_62 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_70 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_72 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_75 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_80 1
#define OB_TWIN_TARGET___NV_PROVIDES_SM_86 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_87 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_88 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_89 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_90 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_100 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_101 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_103 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_107 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_110 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_120 0
#define OB_TWIN_TARGET___NV_PROVIDES_SM_121 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_35 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_37 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_50 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_52 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_53 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_60 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_61 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_62 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_70 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_72 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_75 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_80 1
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_86 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_87 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_88 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_89 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_90 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_100 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_101 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_103 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_107 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_110 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_120 0
#define OB_TWIN_TARGET___NV_IS_EXACTLY_SM_121 0
#define OB_TWIN_TARGET___NV_IS_DEVICE 1
#define OB_TWIN_TARGET___NV_IS_HOST 0
#define OB_TWIN_TARGET___NV_ANY_TARGET 1
#define OB_TWIN_TARGET___NV_NO_TARGET 0
// After the last entry of a list.
#define OB_TWIN_TARGET_ 1

// The macros of <nv/target> give a condition its full name; what takes parentheses from around code is its too.
#define OB_TWIN_VALUE(condition) OB_TWIN_VALUE_OF(condition)
#define OB_TWIN_VALUE_OF(condition) OB_TWIN_TARGET_##condition

#define OB_TWIN_DEVICE_NV_IF_TARGET(condition, ...) OB_TWIN_CHOOSE(OB_TWIN_VALUE(condition), __VA_ARGS__, , )
#define OB_TWIN_DEVICE_NV_IF_ELSE_TARGET(condition, yes, no) OB_TWIN_CHOOSE(OB_TWIN_VALUE(condition), yes, no, )
#define OB_TWIN_CHOOSE(value, ...) OB_TWIN_CHOSEN(value, __VA_ARGS__)
#define OB_TWIN_CHOSEN(value, ...) OB_TWIN_CHOOSE_##value(__VA_ARGS__)
#define OB_TWIN_CHOOSE_1(yes, ...) {_NV_REMOVE_PAREN(yes)}
#define OB_TWIN_CHOOSE_0(yes, no, ...) {_NV_REMOVE_PAREN(no)}

// The code of the first condition in a list that holds.  No macro expands within itself, so each pair leaves the next
// for another scan; the preprocessor scans 32 times, for at least ten pairs.
#define OB_TWIN_DEVICE_NV_DISPATCH_TARGET(...) OB_TWIN_SCAN_32(OB_TWIN_FIRST(__VA_ARGS__, , ))
#define OB_TWIN_FIRST(condition, ...) OB_TWIN_FIRST_HELD(OB_TWIN_VALUE(condition), __VA_ARGS__, , )
#define OB_TWIN_FIRST_HELD(value, ...) OB_TWIN_FIRST_OF(value, __VA_ARGS__)
#define OB_TWIN_FIRST_OF(value, ...) OB_TWIN_FIRST_##value(__VA_ARGS__)
#define OB_TWIN_FIRST_1(code, ...) {_NV_REMOVE_PAREN(code)}
#define OB_TWIN_FIRST_0(code, ...) OB_TWIN_FIRST_LATER OB_TWIN_NOTHING()()(__VA_ARGS__)
#define OB_TWIN_FIRST_LATER() OB_TWIN_FIRST
#define OB_TWIN_NOTHING()
#define OB_TWIN_SCAN_32(...) OB_TWIN_SCAN_8(OB_TWIN_SCAN_8(OB_TWIN_SCAN_8(OB_TWIN_SCAN_8(__VA_ARGS__))))
#define OB_TWIN_SCAN_8(...) OB_TWIN_SCAN_2(OB_TWIN_SCAN_2(OB_TWIN_SCAN_2(OB_TWIN_SCAN_2(__VA_ARGS__))))
#define OB_TWIN_SCAN_2(...) OB_TWIN_SCAN_1(OB_TWIN_SCAN_1(__VA_ARGS__))
#define OB_TWIN_SCAN_1(...) __VA_ARGS__

#endif
