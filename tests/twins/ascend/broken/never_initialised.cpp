// A tensor without a buffer.
extern "C" __global__ __aicore__ void never_initialised_kernel(GM_ADDR x) {
  LocalTensor<float> tensor;
  Duplicate(tensor, 1.0f, 16);
}

extern "C" void never_initialised() { run(never_initialised_kernel, "never_initialised", 1); }

// Reported:
// ascend-twin: never_initialised: write of a local tensor that was never given memory [no-memory]
//   where   broken/never_initialised.cpp:4, Duplicate on PIPE_V, block 0
//   hint    give the tensor memory first: AllocTensor, DeQue, Get or SetGlobalBuffer
