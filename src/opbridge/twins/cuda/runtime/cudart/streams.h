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

// Does work of a stream now, as of its default one; while the stream is captured, the work comes later, more than once.
template <class Now>
cudaError_t on_stream(cudaStream_t stream, const Now& work) {
  if (some_stream_is_captured() && is_captured(stream)) return take_down(stream, work);
  const checks::OnStream during(stream);
  return work();
}

}  // namespace opbridge_twin

#endif
