// Streams and events.  A stream never holds work: every call has done it before it returns, so the order of a stream is
// the order of the calls.
#include "streams.h"

#include <time.h>

#include <mutex>
#include <set>

#include "engine/clocks.h"
#include "state.h"

struct CUstream_st {
  unsigned flags;
  int priority;
};

struct CUevent_st {
  unsigned flags;
  bool recorded;
  timespec at;
};

namespace opbridge_twin {

namespace {

// Objects that hosts know by address; an address that is not here was never given, or was destroyed.
template <class T>
class Handles {
 public:
  T* make(T value) {
    std::lock_guard<std::mutex> hold(guard_);
    return *live_.insert(new T(value)).first;
  }
  bool known(T* handle) {
    std::lock_guard<std::mutex> hold(guard_);
    return live_.count(handle) > 0;
  }
  bool remove(T* handle) {
    std::lock_guard<std::mutex> hold(guard_);
    if (live_.erase(handle) == 0) return false;
    delete handle;
    return true;
  }

 private:
  std::mutex guard_;
  std::set<T*> live_;
};

Handles<CUstream_st>& streams() {
  static auto* const one = new Handles<CUstream_st>;
  return *one;
}

Handles<CUevent_st>& events() {
  static auto* const one = new Handles<CUevent_st>;
  return *one;
}

bool predefined(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

cudaError_t check(cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  return predefined(stream) || streams().known(stream) ? cudaSuccess : noted(cudaErrorInvalidResourceHandle);
}

// The host may tell from the call that what stands before it in the stream is done.
template <class Function>
cudaError_t call_host(const Function& function) {
  checks::host_waits_for_stream(nullptr);
  function();
  return cudaSuccess;
}

cudaError_t check(cudaEvent_t event) {
  OB_TWIN_REQUIRE_DEVICE();
  return event != nullptr && events().known(event) ? cudaSuccess : noted(cudaErrorInvalidResourceHandle);
}

}  // namespace

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  OB_TWIN_REQUIRE_DEVICE();
  if (stream == nullptr || flags > cudaStreamNonBlocking) return noted(cudaErrorInvalidValue);
  *stream = streams().make({flags, priority});
  checks::stream_made(*stream, flags == cudaStreamDefault);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (predefined(stream) || !streams().remove(stream)) return noted(cudaErrorInvalidResourceHandle);
  checks::stream_gone(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  report_unchecked_launch();
  return cudaStreamQuery(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t error = check(stream)) return error;
  if (is_captured(stream)) return noted(cudaErrorStreamCaptureUnsupported);
  checks::host_waits_for_stream(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const cudaError_t error = check(stream)) return error;
  if (const cudaError_t error = check(event)) return error;
  if (some_stream_is_captured()) waits(stream, event);
  if (!is_captured(stream)) checks::stream_waits(stream, event);
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  if (flags == nullptr) return noted(cudaErrorInvalidValue);
  if (const cudaError_t error = check(stream)) return error;
  *flags = predefined(stream) ? cudaStreamDefault : stream->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  if (priority == nullptr) return noted(cudaErrorInvalidValue);
  if (const cudaError_t error = check(stream)) return error;
  *priority = predefined(stream) ? 0 : stream->priority;
  return cudaSuccess;
}

// Does nothing but check: it limits the use of managed memory during kernels, and here host code never runs then.
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle) {
    return noted(cudaErrorInvalidValue);
  }
  return check(stream);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  return value == nullptr ? noted(cudaErrorInvalidValue) : check(stream);
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue* value) {
  if (value == nullptr) return noted(cudaErrorInvalidValue);
  *value = {};
  return attribute == cudaStreamAttributePriority ? cudaStreamGetPriority(stream, &value->priority) : check(stream);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  if (callback == nullptr) return noted(cudaErrorInvalidValue);
  if (const cudaError_t error = check(stream)) return error;
  return on_stream(stream, [=] { return call_host([=] { callback(stream, cudaSuccess, data); }); });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return noted(cudaErrorInvalidValue);
  if (const cudaError_t error = check(stream)) return error;
  return on_stream(stream, [=] { return call_host([=] { function(data); }); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  OB_TWIN_REQUIRE_DEVICE();
  if (event == nullptr) return noted(cudaErrorInvalidValue);
  *event = events().make({flags, false, {}});
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t error = check(event)) return error;
  if (const cudaError_t error = check(stream)) return error;
  if (some_stream_is_captured()) recorded(event, stream);
  if (!is_captured(stream)) checks::event_recorded(event, stream);
  event->at = shown(CLOCK_MONOTONIC);
  event->recorded = true;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = check(event)) return error;
  checks::host_waits_for_event(event);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  report_unchecked_launch();
  return cudaEventQuery(event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (milliseconds == nullptr) return noted(cudaErrorInvalidValue);
  if (const cudaError_t error = check(begin)) return error;
  if (const cudaError_t error = check(end)) return error;
  const bool timed = ((begin->flags | end->flags) & cudaEventDisableTiming) == 0;
  if (!timed || !begin->recorded || !end->recorded) return noted(cudaErrorInvalidResourceHandle);
  checks::host_waits_for_event(begin);
  checks::host_waits_for_event(end);
  *milliseconds = static_cast<float>(1e3 * static_cast<double>(end->at.tv_sec - begin->at.tv_sec) +
                                     1e-6 * static_cast<double>(end->at.tv_nsec - begin->at.tv_nsec));
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr || !events().remove(event)) return noted(cudaErrorInvalidResourceHandle);
  return cudaSuccess;
}
