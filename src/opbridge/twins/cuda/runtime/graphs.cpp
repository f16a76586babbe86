#include "graphs.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "state.h"

// In the order in which it was taken down, which is one that all its edges allow.
struct CUgraph_st {
  std::vector<opbridge_twin::Work> work;
};

struct CUgraphExec_st {
  std::vector<opbridge_twin::Work> work;
};

namespace opbridge_twin {

namespace {

struct Capture {
  cudaStream_t origin;
  std::vector<Work> work;
};

struct Captures {
  std::mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<Capture>> streams;
  std::map<cudaEvent_t, std::weak_ptr<Capture>> events;
};

Captures& captures() {
  static Captures& state = *new Captures;
  return state;
}

std::atomic<size_t> captured_streams{0};

cudaError_t run(const std::vector<Work>& work) {
  for (const Work& one : work) {
    if (const cudaError_t error = one()) return error;
  }
  return cudaSuccess;
}

}  // namespace

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
  *graph = new CUgraph_st{capture->work};
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (status == nullptr) return noted(cudaErrorInvalidValue);
  *status = is_captured(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return noted(cudaErrorInvalidValue);
  if (nodes != nullptr) return noted(cudaErrorNotSupported);
  *count = graph->work.size();
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  if (clone == nullptr || graph == nullptr) return noted(cudaErrorInvalidValue);
  *clone = new CUgraph_st(*graph);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (graph == nullptr) return noted(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  OB_TWIN_REQUIRE_DEVICE();
  if (exec == nullptr || graph == nullptr) return noted(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t ob_twin_graph_update(cudaGraphExec_t exec, cudaGraph_t graph) {
  if (exec == nullptr || graph == nullptr) return noted(cudaErrorInvalidValue);
  // A GPU changes what nodes do, and not how many there are.
  if (exec->work.size() != graph->work.size()) return noted(cudaErrorGraphExecUpdateFailure);
  exec->work = graph->work;
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  return exec == nullptr ? noted(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  OB_TWIN_REQUIRE_DEVICE();
  if (exec == nullptr) return noted(cudaErrorInvalidValue);
  if (is_captured(stream)) return take_down(stream, [work = exec->work] { return run(work); });
  return run(exec->work);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  if (exec == nullptr) return noted(cudaErrorInvalidValue);
  delete exec;
  return cudaSuccess;
}
