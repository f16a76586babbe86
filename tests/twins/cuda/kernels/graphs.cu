// Streams that are captured, for test_graphs.py; what is below 0 is where it went wrong.
#include <cuda_runtime.h>

__global__ void add(int* values, int n) { values[threadIdx.x] += n; }
__global__ void write(int* values) { values[threadIdx.x] = 0; }

static cudaGraphExec_t captured(int* device, int* host, int n, size_t* nodes) {
  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&other);
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMemsetAsync(device, 0, 4 * sizeof(int), stream);
  add<<<1, 4, 0, stream>>>(device, n);
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(other, fork, 0);
  add<<<1, 2, 0, other>>>(device, 100);
  cudaEventRecord(join, other);
  cudaStreamWaitEvent(stream, join, 0);
  cudaMemcpyAsync(host, device, 4 * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaGraph_t graph;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphGetNodes(graph, nullptr, nodes);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  cudaGraphDestroy(graph);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  cudaStreamDestroy(stream);
  cudaStreamDestroy(other);
  return exec;
}

// Nothing happens before the launch, and everything in each one.
extern "C" int replayed(int* host) {
  int* device;
  size_t nodes;
  cudaMalloc(&device, 4 * sizeof(int));
  const cudaGraphExec_t exec = captured(device, host, 10, &nodes);
  const int before = host[0];
  for (int i = 0; i < 2; ++i) {
    host[0] = -1;
    cudaGraphLaunch(exec, nullptr);
  }
  cudaGraphExecDestroy(exec);
  cudaFree(device);
  return before == 0 && nodes == 4 ? cudaGetLastError() : -1;
}

extern "C" int a_graph_in_a_graph(int* host) {
  int* device;
  size_t nodes;
  cudaMalloc(&device, 4 * sizeof(int));
  const cudaGraphExec_t inner = captured(device, host, 1, &nodes);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaStreamCaptureStatus during, after;
  cudaStreamIsCapturing(stream, &during);
  cudaGraphLaunch(inner, stream);
  cudaGraph_t graph;
  cudaStreamEndCapture(stream, &graph);
  cudaStreamIsCapturing(stream, &after);
  cudaGraphExec_t outer;
  cudaGraphInstantiate(&outer, graph);
  cudaGraphExecDestroy(inner);
  const bool nothing = host[0] == 0;
  cudaGraphLaunch(outer, stream);
  cudaGraphExecDestroy(outer);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaFree(device);
  return nothing && during == cudaStreamCaptureStatusActive && after == cudaStreamCaptureStatusNone ? cudaGetLastError()
                                                                                                    : -1;
}

extern "C" int updated(int* host) {
  int* device;
  size_t nodes;
  cudaMalloc(&device, 4 * sizeof(int));
  const cudaGraphExec_t exec = captured(device, host, 1, &nodes);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  for (int n = 3; n < 5; ++n) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < n; ++i) add<<<1, 4, 0, stream>>>(device, 7);
    cudaMemcpyAsync(host, device, 4 * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphExecUpdateResultInfo info;
    const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    cudaGraphDestroy(graph);
    // It may change what the four nodes do, and not how many there are.
    if (error != (n == 3 ? cudaSuccess : cudaErrorGraphExecUpdateFailure)) return -1;
    if ((error == cudaSuccess) != (info.result == cudaGraphExecUpdateSuccess)) return -1;
  }
  cudaGetLastError();
  cudaMemset(device, 0, 4 * sizeof(int));
  cudaGraphLaunch(exec, stream);
  cudaGraphExecDestroy(exec);
  cudaStreamDestroy(stream);
  cudaFree(device);
  return cudaGetLastError();
}

extern "C" int misused() {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaStreamCreate(&stream);
  if (cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) != cudaErrorStreamCaptureUnsupported) return -1;
  if (cudaStreamEndCapture(stream, &graph) != cudaErrorIllegalState) return -2;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaErrorIllegalState) return -3;
  if (cudaStreamSynchronize(stream) != cudaErrorStreamCaptureUnsupported) return -4;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  cudaGetLastError();
  return 0;
}

// A mistake in a graph is found when it is launched, each time.
extern "C" int wrong() {
  int* device;
  cudaMalloc(&device, 4 * sizeof(int));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  write<<<1, 5, 0, stream>>>(device);
  cudaGraph_t graph;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph);
  const cudaError_t before = cudaDeviceSynchronize();
  cudaGraphLaunch(exec, stream);
  const cudaError_t after = cudaDeviceSynchronize();
  return before == cudaSuccess ? after : -1;
}

// The kernel's type is lost.
__global__ void much_shared_memory(char* first, float, int4, char more) {
  extern __shared__ char shared[];
  shared[threadIdx.x] = more;
  if (threadIdx.x == 0) *first = shared[0];
}
extern "C" int attribute_by_address(char* host) {
  const void* kernel = reinterpret_cast<const void*>(&much_shared_memory);
  cudaFuncAttributes attributes;
  if (const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000)) {
    return error;
  }
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) return -1;
  if (attributes.maxDynamicSharedSizeBytes != 100000) return -2;
  char* first;
  cudaMalloc(&first, 1);
  much_shared_memory<<<1, 32, 100000>>>(first, 1, {}, 'x');
  cudaMemcpy(host, first, 1, cudaMemcpyDeviceToHost);
  cudaFree(first);
  return cudaGetLastError();
}

static void count_call(void* calls) { ++*static_cast<int*>(calls); }

// A graph whose nodes are added in another order than they have to run in: fill, add, copy, and a call of the host's.
extern "C" int by_hand(int* host) {
  int* device;
  int calls = 0;
  cudaMalloc(&device, 4 * sizeof(int));
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  int n = 7;
  void* arguments[] = {&device, &n};
  cudaKernelNodeParams adding = {};
  adding.func = (void*)add;
  adding.gridDim = 1;
  adding.blockDim = 4;
  adding.kernelParams = arguments;
  cudaGraphNode_t sum, copied, filled, called;
  cudaGraphAddKernelNode(&sum, graph, nullptr, 0, &adding);
  cudaGraphAddMemcpyNode1D(&copied, graph, &sum, 1, host, device, 4 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemsetParams filling = {device, 0, 0x01010101u, 4, 4, 1};
  cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &filling);
  cudaGraphAddDependencies(graph, &filled, &sum, 1);
  cudaHostNodeParams calling = {count_call, &calls};
  cudaGraphAddHostNode(&called, graph, &copied, 1, &calling);
  n = 100;  // which the node no longer looks at
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  cudaGraphLaunch(exec, nullptr);
  const int first = host[0];
  n = 1;
  cudaGraphExecKernelNodeSetParams(exec, sum, &adding);
  cudaGraphLaunch(exec, nullptr);
  cudaGraph_t outer;
  cudaGraphCreate(&outer, 0);
  cudaGraphNode_t child;
  cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph);
  cudaGraphExec_t outer_exec;
  cudaGraphInstantiate(&outer_exec, outer, 0);
  const int second = host[0];
  cudaGraphLaunch(outer_exec, nullptr);
  const int third = host[0];
  host[0] = first;
  host[1] = second;
  host[2] = third;
  host[3] = calls;
  cudaGraphExecDestroy(exec);
  cudaGraphExecDestroy(outer_exec);
  cudaGraphDestroy(graph);
  cudaGraphDestroy(outer);
  cudaFree(device);
  return cudaGetLastError();
}

// Nodes that wait for each other make no program.
extern "C" int in_a_circle(void) {
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t a, b;
  cudaGraphAddEmptyNode(&a, graph, nullptr, 0);
  cudaGraphAddEmptyNode(&b, graph, &a, 1);
  cudaGraphAddDependencies(graph, &b, &a, 1);
  cudaGraphExec_t exec;
  return cudaGraphInstantiate(&exec, graph, 0);
}

static cudaGraphExec_t with_memory(int** memory, int* host, bool frees, unsigned long long flags) {
  cudaGraph_t graph;
  cudaGraphCreate(&graph, 0);
  cudaMemAllocNodeParams wanted = {};
  wanted.poolProps.allocType = cudaMemAllocationTypePinned;
  wanted.poolProps.location.type = cudaMemLocationTypeDevice;
  wanted.bytesize = 4 * sizeof(int);
  cudaGraphNode_t allocated, filled, added, copied, freed;
  cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &wanted);
  *memory = static_cast<int*>(wanted.dptr);
  cudaMemsetParams filling = {*memory, 0, 0, 4, 4, 1};
  cudaGraphAddMemsetNode(&filled, graph, &allocated, 1, &filling);
  int n = 5;
  void* arguments[] = {memory, &n};
  cudaKernelNodeParams adding = {};
  adding.func = (void*)add;
  adding.gridDim = 1;
  adding.blockDim = 4;
  adding.kernelParams = arguments;
  cudaGraphAddKernelNode(&added, graph, &filled, 1, &adding);
  cudaGraphAddMemcpyNode1D(&copied, graph, &added, 1, host, *memory, 4 * sizeof(int), cudaMemcpyDeviceToHost);
  if (frees) cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, *memory);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, flags);
  cudaGraphDestroy(graph);
  return exec;
}

// What a graph allocates is there from the launch on, until a node of the graph or the program frees it.
extern "C" int memory_of_a_graph(int* host) {
  int* memory;
  unsigned long long used[2];
  const cudaGraphExec_t whole = with_memory(&memory, host, true, 0);
  cudaGraphLaunch(whole, nullptr);
  cudaGraphLaunch(whole, nullptr);
  cudaGraphExecDestroy(whole);
  const cudaGraphExec_t left = with_memory(&memory, host + 4, false, 0);
  cudaGraphLaunch(left, nullptr);
  cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used[0]);
  const bool refused = cudaGraphLaunch(left, nullptr) == cudaErrorInvalidValue;
  cudaGetLastError();
  add<<<1, 4>>>(memory, 1);
  cudaMemcpy(host + 4, memory, 4 * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(memory);
  cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used[1]);
  cudaGraphExecDestroy(left);
  const cudaGraphExec_t again = with_memory(&memory, host + 8, false, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  cudaGraphLaunch(again, nullptr);
  cudaGraphLaunch(again, nullptr);
  cudaFreeAsync(memory, nullptr);
  cudaGraphExecDestroy(again);
  cudaDeviceGraphMemTrim(0);
  return refused && used[0] >= 4 * sizeof(int) && used[1] == 0 ? cudaGetLastError() : -1;
}

// The same for streams that are captured.
extern "C" int memory_of_a_stream(int* host) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  int* memory;
  cudaMallocAsync(&memory, 4 * sizeof(int), stream);
  cudaMemsetAsync(memory, 0, 4 * sizeof(int), stream);
  add<<<1, 4, 0, stream>>>(memory, 3);
  cudaMemcpyAsync(host, memory, 4 * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaFreeAsync(memory, stream);
  cudaGraph_t graph;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, 0);
  for (int i = 0; i < 2; ++i) cudaGraphLaunch(exec, stream);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return cudaGetLastError();
}

extern "C" int memory_after_the_graph(int* host) {
  int* memory;
  const cudaGraphExec_t exec = with_memory(&memory, host, true, 0);
  cudaGraphLaunch(exec, nullptr);
  write<<<1, 1>>>(memory);
  return cudaDeviceSynchronize();
}
