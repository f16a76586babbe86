// Streams that are captured: work on them is taken down in a graph, in the place of being done.
#ifndef OPBRIDGE_TWIN_RUNTIME_GRAPHS_H
#define OPBRIDGE_TWIN_RUNTIME_GRAPHS_H

#include <cuda_runtime_api.h>

#include <functional>

namespace opbridge_twin {

using Work = std::function<cudaError_t()>;

bool is_captured(cudaStream_t stream);
// Whether a stream is captured at all, which costs next to nothing to ask.
bool some_stream_is_captured();
// Only for a stream that is.
cudaError_t take_down(cudaStream_t stream, Work work);

// An event carries a capture from one stream to another.
void recorded(cudaEvent_t event, cudaStream_t stream);
void waits(cudaStream_t stream, cudaEvent_t event);

}  // namespace opbridge_twin

// At the start of what goes to a stream: the rest of it may come later, more than once.
#define OB_TWIN_CAPTURE(stream, ...)                                                    \
  if (opbridge_twin::some_stream_is_captured() && opbridge_twin::is_captured(stream)) { \
    return opbridge_twin::take_down(stream, [=] { return __VA_ARGS__; });               \
  }

#endif
