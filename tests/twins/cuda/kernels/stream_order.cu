// Two streams, and what does or does not order their work: `n` elements, `launches` of the first kernel.
#include <cuda_runtime.h>

static __global__ void add_one(float* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] += 1;
}
static __global__ void twice(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i];
}
static __global__ void set(float* x, float value, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = value;
}
static __global__ void count(int* total, int n) {
  if (blockIdx.x * blockDim.x + threadIdx.x < n) atomicAdd(total, 1);
}

namespace {

// Everything that the ways below use; x and y are filled before either stream has work.
struct Setting {
  explicit Setting(int n, unsigned flags = cudaStreamDefault) : n(n), bytes(n * sizeof(float)) {
    cudaMalloc(&x, bytes);
    cudaMalloc(&y, bytes);
    cudaMallocHost(&pinned, bytes);
    for (cudaStream_t* stream : {&first, &second, &third}) cudaStreamCreateWithFlags(stream, flags);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&later, cudaEventDisableTiming);
    cudaMemset(x, 0, bytes);
    cudaMemset(y, 0, bytes);
    cudaDeviceSynchronize();
  }
  ~Setting() {
    for (cudaStream_t stream : {first, second, third}) cudaStreamDestroy(stream);
    cudaEventDestroy(done);
    cudaEventDestroy(later);
    cudaFree(x);
    cudaFree(y);
    cudaFreeHost(pinned);
  }
  void write_x(cudaStream_t stream) { add_one<<<4, 64, 0, stream>>>(x, n); }
  void read_x(cudaStream_t stream) { twice<<<4, 64, 0, stream>>>(x, y, n); }
  int result() { return cudaDeviceSynchronize(); }

  int n;
  size_t bytes;
  float *x, *y, *pinned;
  cudaStream_t first, second, third;
  cudaEvent_t done, later;
};

void order(cudaStream_t before, cudaEvent_t event, cudaStream_t after) {
  cudaEventRecord(event, before);
  cudaStreamWaitEvent(after, event, 0);
}

}  // namespace

#define WAY(name, ...)                       \
  extern "C" int name(int n, int launches) { \
    (void)launches;                          \
    Setting s(n);                            \
    __VA_ARGS__;                             \
    return s.result();                       \
  }
#define WAY_OF_NON_BLOCKING(name, ...)   \
  extern "C" int name(int n, int) {      \
    Setting s(n, cudaStreamNonBlocking); \
    __VA_ARGS__;                         \
    return s.result();                   \
  }

// What is ordered -----------------------------------------------------------------------------------------------------
WAY(an_event_is_waited_for, for (int i = 0; i < launches; ++i) s.write_x(s.first); order(s.first, s.done, s.second);
    s.read_x(s.second))
WAY(
    streams_take_turns, for (int i = 0; i < launches; ++i) {
      s.write_x(s.first);
      order(s.first, s.done, s.second);
      s.read_x(s.second);
      order(s.second, s.later, s.first);
    })
WAY(an_order_is_handed_on, s.write_x(s.first); order(s.first, s.done, s.second); order(s.second, s.later, s.third);
    s.read_x(s.third))
WAY(the_host_waits_for_the_stream, s.write_x(s.first); cudaStreamSynchronize(s.first); s.read_x(s.second))
WAY(the_host_waits_for_the_event, s.write_x(s.first); cudaEventRecord(s.done, s.first); cudaEventSynchronize(s.done);
    s.read_x(s.second))
WAY(
    the_host_asks_until_it_is_done, s.write_x(s.first);
    while (cudaStreamQuery(s.first) != cudaSuccess) {} s.read_x(s.second))
WAY(the_host_waits_for_the_device, s.write_x(s.first); cudaDeviceSynchronize(); s.read_x(s.second))
WAY(the_default_stream_waits_for_others, s.write_x(s.first); s.read_x(nullptr))
WAY(others_wait_for_the_default_stream, s.write_x(nullptr); s.read_x(s.second))
WAY(the_default_stream_stands_between, s.write_x(s.first); count<<<1, 1>>>((int*)s.y, 0); s.read_x(s.second))
WAY(both_only_read, s.read_x(s.first); cudaMemcpyAsync(s.pinned, s.x, s.bytes, cudaMemcpyDeviceToHost, s.third))
WAY(each_has_its_half, set<<<1, 32, 0, s.first>>>(s.x, 1, s.n / 2);
    set<<<1, 32, 0, s.second>>>(s.x + s.n / 2, 2, s.n - s.n / 2))
WAY(both_count_by_atomics, count<<<1, 64, 0, s.first>>>((int*)s.x, s.n); count<<<1, 64, 0, s.second>>>((int*)s.x, s.n))
WAY(both_write_the_same, set<<<1, 32, 0, s.first>>>(s.x, 1, s.n); set<<<1, 32, 0, s.second>>>(s.x, 1, s.n))
WAY(a_callback_tells_the_host, s.write_x(s.first);
    cudaLaunchHostFunc(s.first, [](void*) {}, nullptr); s.read_x(s.second))
WAY(copies_are_waited_for, cudaMemcpyAsync(s.x, s.pinned, s.bytes, cudaMemcpyHostToDevice, s.first);
    order(s.first, s.done, s.second); s.write_x(s.second); order(s.second, s.later, s.third);
    cudaMemcpyAsync(s.pinned, s.x, s.bytes, cudaMemcpyDeviceToHost, s.third))
WAY(all_goes_to_one_stream, cudaMemsetAsync(s.x, 0, s.bytes, s.first);
    for (int i = 0; i < launches; ++i) s.write_x(s.first);
    cudaMemcpyAsync(s.pinned, s.x, s.bytes, cudaMemcpyDeviceToHost, s.first))
WAY_OF_NON_BLOCKING(a_copy_is_done_when_the_call_returns, cudaMemcpy(s.x, s.pinned, s.bytes, cudaMemcpyHostToDevice);
                    s.read_x(s.first))
WAY(a_graph_is_work_of_its_stream, cudaGraph_t graph; cudaGraphExec_t program;
    cudaStreamBeginCapture(s.first, cudaStreamCaptureModeGlobal); s.write_x(s.first); order(s.first, s.done, s.second);
    s.read_x(s.second); order(s.second, s.later, s.first); cudaStreamEndCapture(s.first, &graph);
    cudaGraphInstantiate(&program, graph, 0); cudaGraphLaunch(program, s.third); s.write_x(s.third);
    cudaGraphExecDestroy(program); cudaGraphDestroy(graph))

// What is not ---------------------------------------------------------------------------------------------------------
WAY(no_event, for (int i = 0; i < launches; ++i) s.write_x(s.first); s.read_x(s.second))
WAY(an_event_is_not_waited_for, s.write_x(s.first); cudaEventRecord(s.done, s.first); s.read_x(s.second))
WAY(the_event_is_recorded_too_early, cudaEventRecord(s.done, s.first);
    for (int i = 0; i < launches; ++i) s.write_x(s.first); cudaStreamWaitEvent(s.second, s.done, 0); s.read_x(s.second))
WAY(the_event_is_waited_for_too_late, s.write_x(s.first); cudaEventRecord(s.done, s.first); s.read_x(s.second);
    cudaStreamWaitEvent(s.second, s.done, 0))
WAY(another_stream_waits, s.write_x(s.first); order(s.first, s.done, s.third); s.read_x(s.second))
WAY(the_host_waits_for_another_stream, s.write_x(s.first); cudaStreamSynchronize(s.third); s.read_x(s.second))
WAY(what_is_read_is_overwritten, s.read_x(s.first); s.write_x(s.second))
WAY(both_write, set<<<1, 32, 0, s.first>>>(s.x, 1, s.n); set<<<1, 32, 0, s.second>>>(s.x, 2, s.n))
WAY(
    the_last_of_many_is_forgotten, for (int i = 0; i < launches; ++i) {
      s.write_x(s.first);
      order(s.first, s.done, s.second);
      s.read_x(s.second);
      if (i + 1 < launches) order(s.second, s.later, s.first);
    } s.write_x(s.first))
WAY(a_copy_is_not_waited_for, cudaMemcpyAsync(s.x, s.pinned, s.bytes, cudaMemcpyHostToDevice, s.first);
    s.read_x(s.second))
WAY(a_copy_does_not_wait, s.write_x(s.first); cudaMemcpyAsync(s.pinned, s.x, s.bytes, cudaMemcpyDeviceToHost, s.second))
WAY(a_fill_is_not_waited_for, cudaMemsetAsync(s.x, 0, s.bytes, s.first); s.write_x(s.second))
WAY(two_copies_meet, cudaMemcpyAsync(s.x, s.pinned, s.bytes, cudaMemcpyHostToDevice, s.first);
    cudaMemcpyAsync(s.y, s.x, s.bytes, cudaMemcpyDeviceToDevice, s.second))
WAY_OF_NON_BLOCKING(a_non_blocking_stream_does_not_wait, s.write_x(nullptr); s.read_x(s.first))
WAY_OF_NON_BLOCKING(a_non_blocking_stream_is_not_waited_for, s.write_x(s.first); s.read_x(nullptr))
WAY(a_graph_is_not_waited_for, cudaGraph_t graph; cudaGraphExec_t program;
    cudaStreamBeginCapture(s.first, cudaStreamCaptureModeGlobal); s.write_x(s.first);
    cudaStreamEndCapture(s.first, &graph); cudaGraphInstantiate(&program, graph, 0); cudaGraphLaunch(program, s.third);
    s.read_x(s.second); cudaGraphExecDestroy(program); cudaGraphDestroy(graph))
