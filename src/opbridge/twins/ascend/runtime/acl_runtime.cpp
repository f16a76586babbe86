// acl's devices, streams and events.  What a stream is given is done when the call returns, so there is no waiting.
#include <acl/acl.h>
#include <opbridge/half.h>
#include <opbridge_ascend/launch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <chrono>

#include "acl_state.h"
#include "soc.h"

namespace opbridge_ascend {
namespace {

constexpr uint32_t kDevices = 8;
using Clock = std::chrono::steady_clock;

struct Context {
  int32_t device;
};

struct Stream {
  int32_t device;
};

// Recorded at a time of the host's clock: work on a stream is done when the call returns.
struct Event {
  bool recorded = false;
  Clock::time_point at;
};

std::atomic<bool> initialized{false};
thread_local int32_t device = 0;
thread_local std::string message;

template <class T, class... Values>
aclError create(const char* call, void** handle, Values... values) {
  if (handle == nullptr) return failed(ACL_ERROR_INVALID_PARAM, std::string(call) + ": nowhere to put the handle");
  *handle = new T{values...};
  return ACL_SUCCESS;
}

template <class T>
aclError destroy(const char* call, void* handle) {
  if (handle == nullptr) return failed(ACL_ERROR_INVALID_PARAM, std::string(call) + ": the handle is null");
  delete static_cast<T*>(handle);
  return ACL_SUCCESS;
}

aclError set_device(const char* call, int32_t index) {
  if (index < 0 || static_cast<uint32_t>(index) >= kDevices) {
    return failed(ACL_ERROR_RT_INVALID_DEVICEID, std::string(call) + ": there is no device " + std::to_string(index) +
                                                     "; the twin has " + std::to_string(kDevices));
  }
  device = index;
  return ACL_SUCCESS;
}

}  // namespace

aclError failed(aclError error, const std::string& what) {
  message = what;
  fprintf(stderr, "ascend-twin: %s (error %d of acl)\n", what.c_str(), error);
  return error;
}

int32_t current_device() { return device; }

}  // namespace opbridge_ascend

using namespace opbridge_ascend;

aclError aclInit(const char*) {
  if (initialized.exchange(true)) return failed(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: called before");
  return ACL_SUCCESS;
}

aclError aclFinalize() {
  if (!initialized.exchange(false)) return failed(ACL_ERROR_UNINITIALIZE, "aclFinalize: without aclInit");
  return ACL_SUCCESS;
}

const char* aclGetRecentErrMsg() { return message.empty() ? nullptr : message.c_str(); }

aclError aclrtSetDevice(int32_t index) { return set_device("aclrtSetDevice", index); }
aclError aclrtResetDevice(int32_t index) { return set_device("aclrtResetDevice", index); }

aclError aclrtGetDevice(int32_t* index) {
  if (index == nullptr) return failed(ACL_ERROR_INVALID_PARAM, "aclrtGetDevice: nowhere to put it");
  *index = device;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (count == nullptr) return failed(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCount: nowhere to put it");
  *count = kDevices;
  return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode* mode) {
  if (mode == nullptr) return failed(ACL_ERROR_INVALID_PARAM, "aclrtGetRunMode: nowhere to put it");
  *mode = ACL_HOST;
  return ACL_SUCCESS;
}

const char* aclrtGetSocName() {
  const Soc* const soc = chosen_soc();
  return soc != nullptr ? soc->name : nullptr;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t index) {
  const aclError error = set_device("aclrtCreateContext", index);
  return error == ACL_SUCCESS ? create<Context>("aclrtCreateContext", context, index) : error;
}
aclError aclrtDestroyContext(aclrtContext context) { return destroy<Context>("aclrtDestroyContext", context); }

aclError aclrtSetCurrentContext(aclrtContext context) {
  if (context == nullptr) return failed(ACL_ERROR_INVALID_PARAM, "aclrtSetCurrentContext: the context is null");
  device = static_cast<Context*>(context)->device;
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  static thread_local Context current;
  if (context == nullptr) return failed(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: nowhere to put it");
  current.device = device;
  *context = &current;
  return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream* stream) { return create<Stream>("aclrtCreateStream", stream, device); }
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return create<Stream>("aclrtCreateStreamWithConfig", stream, device);
}
aclError aclrtDestroyStream(aclrtStream stream) { return destroy<Stream>("aclrtDestroyStream", stream); }
aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t) { return ACL_SUCCESS; }
aclError aclrtSynchronizeDevice() { return ACL_SUCCESS; }

aclError aclrtCreateEvent(aclrtEvent* event) { return create<Event>("aclrtCreateEvent", event); }
aclError aclrtDestroyEvent(aclrtEvent event) { return destroy<Event>("aclrtDestroyEvent", event); }

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream) {
  if (event == nullptr) return failed(ACL_ERROR_INVALID_PARAM, "aclrtRecordEvent: the event is null");
  *static_cast<Event*>(event) = {true, Clock::now()};
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent) { return ACL_SUCCESS; }
aclError aclrtStreamWaitEvent(aclrtStream, aclrtEvent) { return ACL_SUCCESS; }

aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent start, aclrtEvent end) {
  const auto* const first = static_cast<Event*>(start);
  const auto* const last = static_cast<Event*>(end);
  if (milliseconds == nullptr || first == nullptr || last == nullptr || !first->recorded || !last->recorded) {
    return failed(ACL_ERROR_INVALID_PARAM, "aclrtEventElapsedTime: an event that nobody has recorded");
  }
  *milliseconds = std::chrono::duration<float, std::milli>(last->at - first->at).count();
  return ACL_SUCCESS;
}

void aclAppLog(aclLogLevel level, const char* function, const char* file, uint32_t line, const char* format, ...) {
  if (level < ACL_WARNING) return;
  fprintf(stderr, "%s:%u: %s: ", file, line, function);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

aclFloat16 aclFloatToFloat16(float value) {
  const ob::half half(value);
  aclFloat16 bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
}

float aclFloat16ToFloat(aclFloat16 bits) {
  ob::half half;
  memcpy(&half, &bits, sizeof bits);
  return static_cast<float>(half);
}

size_t aclDataTypeSize(aclDataType type) {
  switch (type) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
      return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 0;
  }
}
