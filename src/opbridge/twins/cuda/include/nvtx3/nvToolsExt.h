// NVTX, by which programs name what they do to a profiler.  None is there to be told.
#ifndef OPBRIDGE_TWIN_NVTX3_NV_TOOLS_EXT_H
#define OPBRIDGE_TWIN_NVTX3_NV_TOOLS_EXT_H

#include <stddef.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st* nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st* nvtxStringHandle_t;
typedef enum { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum {
  NVTX_MESSAGE_UNKNOWN = 0,
  NVTX_MESSAGE_TYPE_ASCII = 1,
  NVTX_MESSAGE_TYPE_UNICODE = 2,
  NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3
} nvtxPayloadType_t;
typedef union {
  const char* ascii;
  const wchar_t* unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct {
  uint16_t version;
  uint16_t size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType;
  int32_t reserved0;
  union {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_t;

#define OB_TWIN_UNTOLD(result, name, ...) \
  static inline result name(__VA_ARGS__) { return (result)0; }
#define OB_TWIN_UNTOLD_NOTHING(name, ...) \
  static inline void name(__VA_ARGS__) {}
OB_TWIN_UNTOLD(int, nvtxRangePushA, const char* message __attribute__((unused)))
OB_TWIN_UNTOLD(int, nvtxRangePushW, const wchar_t* message __attribute__((unused)))
OB_TWIN_UNTOLD(int, nvtxRangePushEx, const nvtxEventAttributes_t* event __attribute__((unused)))
OB_TWIN_UNTOLD(int, nvtxRangePop, void)
OB_TWIN_UNTOLD(nvtxRangeId_t, nvtxRangeStartA, const char* message __attribute__((unused)))
OB_TWIN_UNTOLD(nvtxRangeId_t, nvtxRangeStartEx, const nvtxEventAttributes_t* event __attribute__((unused)))
OB_TWIN_UNTOLD_NOTHING(nvtxRangeEnd, nvtxRangeId_t range __attribute__((unused)))
OB_TWIN_UNTOLD_NOTHING(nvtxMarkA, const char* message __attribute__((unused)))
OB_TWIN_UNTOLD_NOTHING(nvtxMarkEx, const nvtxEventAttributes_t* event __attribute__((unused)))
OB_TWIN_UNTOLD_NOTHING(nvtxNameOsThreadA, uint32_t thread __attribute__((unused)),
                       const char* name __attribute__((unused)))
OB_TWIN_UNTOLD(nvtxDomainHandle_t, nvtxDomainCreateA, const char* name __attribute__((unused)))
OB_TWIN_UNTOLD_NOTHING(nvtxDomainDestroy, nvtxDomainHandle_t domain __attribute__((unused)))
OB_TWIN_UNTOLD(int, nvtxDomainRangePushEx, nvtxDomainHandle_t domain __attribute__((unused)),
               const nvtxEventAttributes_t* event __attribute__((unused)))
OB_TWIN_UNTOLD(int, nvtxDomainRangePop, nvtxDomainHandle_t domain __attribute__((unused)))
OB_TWIN_UNTOLD(nvtxStringHandle_t, nvtxDomainRegisterStringA, nvtxDomainHandle_t domain __attribute__((unused)),
               const char* text __attribute__((unused)))
#undef OB_TWIN_UNTOLD
#undef OB_TWIN_UNTOLD_NOTHING

#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxDomainCreate nvtxDomainCreateA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA

#endif
