// The part of ONNX Runtime's C interface that a library of custom operators uses, written from its public
// documentation.
//
// The interface only grows: what stands at a place of its table stays there, and a runtime gives the table of any
// version up to its own.  So one library runs under every runtime from kVersion on.
#ifndef OPBRIDGE_NATIVE_STANDALONE_ONNXRUNTIME_API_H
#define OPBRIDGE_NATIVE_STANDALONE_ONNXRUNTIME_API_H

#include <opbridge/abi.h>

#include <cstddef>
#include <cstdint>

namespace opbridge::onnxruntime {

constexpr uint32_t kVersion = 17;
constexpr const char* kVersionText = "1.17";

struct Status;
struct SessionOptions;
struct Domain;
struct Value;
struct TypeAndShape;
struct KernelInfo;
struct KernelContext;
struct ShapeContext;
struct Attribute;

enum ErrorCode { kFail = 1, kInvalidArgument = 2 };
enum AttributeType { kInt = 1, kInts = 2, kFloat = 3, kFloats = 4, kString = 5 };
enum Characteristic { kRequired = 0, kOptionalInput = 1, kVariadic = 2 };

// Functions by their place in the runtime's table; those between are others'.
struct Api {
  Status* (*CreateStatus)(int code, const char* message);
  void* unused_1[25];
  Status* (*CreateCustomOpDomain)(const char* name, Domain** out);
  Status* (*CustomOpDomain_Add)(Domain* domain, const struct CustomOp* op);
  Status* (*AddCustomOpDomain)(SessionOptions* options, Domain* domain);
  void* unused_29[22];
  Status* (*GetTensorMutableData)(Value* value, void** out);
  void* unused_52[5];
  Status* (*CreateTensorTypeAndShapeInfo)(TypeAndShape** out);
  Status* (*SetTensorElementType)(TypeAndShape* info, int type);
  Status* (*SetDimensions)(TypeAndShape* info, const int64_t* sizes, size_t count);
  Status* (*GetTensorElementType)(const TypeAndShape* info, int* out);
  Status* (*GetDimensionsCount)(const TypeAndShape* info, size_t* out);
  Status* (*GetDimensions)(const TypeAndShape* info, int64_t* sizes, size_t count);
  void* unused_63[2];
  Status* (*GetTensorTypeAndShape)(const Value* value, TypeAndShape** out);
  void* unused_66[19];
  Status* (*KernelInfoGetAttribute_float)(const KernelInfo* info, const char* name, float* out);
  Status* (*KernelInfoGetAttribute_int64)(const KernelInfo* info, const char* name, int64_t* out);
  Status* (*KernelInfoGetAttribute_string)(const KernelInfo* info, const char* name, char* out, size_t* size);
  Status* (*KernelContext_GetInputCount)(const KernelContext* context, size_t* out);
  void* unused_89[1];
  Status* (*KernelContext_GetInput)(const KernelContext* context, size_t index, const Value** out);
  Status* (*KernelContext_GetOutput)(KernelContext* context, size_t index, const int64_t* sizes, size_t count,
                                     Value** out);
  void* unused_92[1];
  void (*ReleaseStatus)(Status* status);
  void* unused_94[5];
  void (*ReleaseTensorTypeAndShapeInfo)(TypeAndShape* info);
  void* unused_100[62];
  Status* (*KernelInfoGetAttributeArray_float)(const KernelInfo* info, const char* name, float* out, size_t* size);
  Status* (*KernelInfoGetAttributeArray_int64)(const KernelInfo* info, const char* name, int64_t* out, size_t* size);
  void* unused_164[103];
  Status* (*ShapeInferContext_GetInputCount)(const ShapeContext* context, size_t* out);
  Status* (*ShapeInferContext_GetInputTypeShape)(const ShapeContext* context, size_t index, TypeAndShape** out);
  Status* (*ShapeInferContext_GetAttribute)(const ShapeContext* context, const char* name, const Attribute** out);
  Status* (*ShapeInferContext_SetOutputTypeShape)(const ShapeContext* context, size_t index, const TypeAndShape* info);
  Status* (*SetSymbolicDimensions)(TypeAndShape* info, const char** names, size_t count);
  Status* (*ReadOpAttr)(const Attribute* attribute, int type, void* data, size_t bytes, size_t* out);
};

#define OB_ONNXRUNTIME_PLACE(function, place) static_assert(offsetof(Api, function) == (place) * sizeof(void*))
OB_ONNXRUNTIME_PLACE(CreateCustomOpDomain, 26);
OB_ONNXRUNTIME_PLACE(GetTensorMutableData, 51);
OB_ONNXRUNTIME_PLACE(CreateTensorTypeAndShapeInfo, 57);
OB_ONNXRUNTIME_PLACE(GetTensorTypeAndShape, 65);
OB_ONNXRUNTIME_PLACE(KernelInfoGetAttribute_float, 85);
OB_ONNXRUNTIME_PLACE(KernelContext_GetInput, 90);
OB_ONNXRUNTIME_PLACE(ReleaseStatus, 93);
OB_ONNXRUNTIME_PLACE(ReleaseTensorTypeAndShapeInfo, 99);
OB_ONNXRUNTIME_PLACE(KernelInfoGetAttributeArray_float, 162);
OB_ONNXRUNTIME_PLACE(ShapeInferContext_GetInputCount, 267);
OB_ONNXRUNTIME_PLACE(ReadOpAttr, 272);
#undef OB_ONNXRUNTIME_PLACE

struct ApiBase {
  const Api* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// One operator as the runtime asks for it.
struct CustomOp {
  uint32_t version = kVersion;
  void* (*CreateKernel)(const CustomOp*, const Api*, const KernelInfo*) = nullptr;
  const char* (*GetName)(const CustomOp*) = nullptr;
  const char* (*GetExecutionProviderType)(const CustomOp*) = nullptr;
  int (*GetInputType)(const CustomOp*, size_t) = nullptr;
  size_t (*GetInputTypeCount)(const CustomOp*) = nullptr;
  int (*GetOutputType)(const CustomOp*, size_t) = nullptr;
  size_t (*GetOutputTypeCount)(const CustomOp*) = nullptr;
  void (*KernelCompute)(void*, KernelContext*) = nullptr;
  void (*KernelDestroy)(void*) = nullptr;
  int (*GetInputCharacteristic)(const CustomOp*, size_t) = nullptr;
  int (*GetOutputCharacteristic)(const CustomOp*, size_t) = nullptr;
  int (*GetInputMemoryType)(const CustomOp*, size_t) = nullptr;
  int (*GetVariadicInputMinArity)(const CustomOp*) = nullptr;
  int (*GetVariadicInputHomogeneity)(const CustomOp*) = nullptr;
  int (*GetVariadicOutputMinArity)(const CustomOp*) = nullptr;
  int (*GetVariadicOutputHomogeneity)(const CustomOp*) = nullptr;
  Status* (*CreateKernelV2)(const CustomOp*, const Api*, const KernelInfo*, void**) = nullptr;
  Status* (*KernelComputeV2)(void*, KernelContext*) = nullptr;
  Status* (*InferOutputShape)(const CustomOp*, ShapeContext*) = nullptr;
  int (*GetStartVersion)(const CustomOp*) = nullptr;
  int (*GetEndVersion)(const CustomOp*) = nullptr;
  void* aliases[4] = {};  // of later versions
};

static_assert(sizeof(CustomOp) == 26 * sizeof(void*));

// Element types: by their number in ONNX the code of abi.h, and back.
inline int dtype_of_onnx(int type) {
  static constexpr int8_t codes[] = {-1,        OB_float32, OB_uint8,     OB_int8,       OB_uint16,  OB_int16,
                                     OB_int32,  OB_int64,   -1,           OB_bool,       OB_float16, OB_float64,
                                     OB_uint32, OB_uint64,  OB_complex64, OB_complex128, OB_bfloat16};
  return type >= 0 && type < static_cast<int>(sizeof codes) ? codes[type] : -1;
}
inline int onnx_of_dtype(int code) {
  for (int type = 1; type <= 16; ++type)
    if (dtype_of_onnx(type) == code) return type;
  return 0;
}

}  // namespace opbridge::onnxruntime

#endif
