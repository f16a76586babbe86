// Captures: the work of a stream is taken down instead of being done, and becomes a graph.
#include <stdint.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "graphs.h"
#include "state.h"
#include "streams.h"

namespace opbridge_twin {

namespace {

// What one capture has taken down, from its first stream and those that joined it by events.
struct Capture {
  cudaStream_t origin;
  std::vector<Work> work;
};

// The captures that go on, by the streams and events that belong to them.
struct Captures {
  std::mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<Capture>> streams;
  std::map<cudaEvent_t, std::weak_ptr<Capture>> events;
};

Captures& captures() {
  static Captures& state = *new Captures;
  return state;
}

// As many as `captures().streams` has, and changed under its mutex.  It is read without: a thread that captures sees
// its own change, and a call that others make at the same time may come before the capture as well as after it.
std::atomic<size_t> captured_streams{0};

// Where a node's own work is taken down, which is never launched on as a stream of the program's.
thread_local char place_of_node;
cudaStream_t stream_of_node() { return reinterpret_cast<cudaStream_t>(&place_of_node); }

}  // namespace

Work work_of_node() {
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.streams.find(stream_of_node());
  if (found == state.streams.end()) return [] { return cudaSuccess; };
  const std::vector<Work> work = found->second->work;
  state.streams.erase(found);
  --captured_streams;
  return [work] { return run(work); };
}

bool some_stream_is_captured() { return captured_streams.load(std::memory_order_relaxed) > 0; }

bool is_captured(cudaStream_t stream) {
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return state.streams.count(stream) > 0;
}

cudaError_t take_down(cudaStream_t stream, Work work) {
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.streams.at(stream)->work.push_back(std::move(work));
  return cudaSuccess;
}

void recorded(cudaEvent_t event, cudaStream_t stream) {
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) {
    state.events.erase(event);
  } else {
    state.events[event] = found->second;
  }
}

void waits(cudaStream_t stream, cudaEvent_t event) {
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.events.find(event);
  if (found == state.events.end()) return;
  const std::shared_ptr<Capture> capture = found->second.lock();
  if (capture != nullptr && state.streams.try_emplace(stream, capture).second) ++captured_streams;
}

}  // namespace opbridge_twin

using namespace opbridge_twin;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  OB_TWIN_REQUIRE_DEVICE();
  // A GPU captures no legacy default stream, because all others wait for it.
  if (stream == nullptr || stream == cudaStreamLegacy) return noted(cudaErrorStreamCaptureUnsupported);
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto capture = std::make_shared<Capture>(Capture{stream, {}});
  if (!state.streams.try_emplace(stream, capture).second) return noted(cudaErrorIllegalState);
  ++captured_streams;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph == nullptr) return noted(cudaErrorInvalidValue);
  *graph = nullptr;
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const auto found = state.streams.find(stream);
  if (found == state.streams.end()) return noted(cudaErrorIllegalState);
  const std::shared_ptr<Capture> capture = found->second;
  if (capture->origin != stream) return noted(cudaErrorStreamCaptureUnmatched);
  for (auto one = state.streams.begin(); one != state.streams.end();) {
    if (one->second == capture) {
      one = state.streams.erase(one);
      --captured_streams;
    } else {
      ++one;
    }
  }
  auto* const made = new CUgraph_st;
  for (const Work& work : capture->work) {
    const auto node = std::make_shared<CUgraphNode_st>(CUgraphNode_st{work, {}});
    if (!made->nodes.empty()) node->before.push_back(made->nodes.back().get());
    made->nodes.push_back(node);
  }
  *graph = made;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return noted(cudaErrorInvalidValue);
  *status = is_captured(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  const cudaError_t error = cudaStreamIsCapturing(stream, status);
  if (error == cudaSuccess && id != nullptr && *status != cudaStreamCaptureStatusNone) {
    Captures& state = captures();
    const std::lock_guard<std::mutex> lock(state.mutex);
    *id = reinterpret_cast<uintptr_t>(state.streams.at(stream).get());
  }
  return error;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  if (mode == nullptr) return noted(cudaErrorInvalidValue);
  std::swap(*mode, current);
  return cudaSuccess;
}

cudaStream_t ob_twin_node_begins() {
  Captures& state = captures();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const cudaStream_t stream = stream_of_node();
  if (state.streams.insert_or_assign(stream, std::make_shared<Capture>(Capture{stream, {}})).second) ++captured_streams;
  return stream;
}
