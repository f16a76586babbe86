// Work of a stream: done at once, or taken down in a graph where the stream is captured.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_STREAMS_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_STREAMS_H

#include <cuda_runtime_api.h>

#include <functional>

#include "checks/checks.h"

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

// What goes to a stream, as work of its default one: while it is captured, it comes later, more than once.
#define OB_TWIN_ON_STREAM(stream, ...)                                                  \
  if (opbridge_twin::some_stream_is_captured() && opbridge_twin::is_captured(stream)) { \
    return opbridge_twin::take_down(stream, [=] { return __VA_ARGS__; });               \
  }                                                                                     \
  const opbridge_twin::checks::OnStream on_stream(stream);                              \
  return __VA_ARGS__;

#endif
