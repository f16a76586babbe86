// Each turn takes a tensor, and none gives it back.
extern "C" __global__ __aicore__ void never_freed_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> queue;
  pipe.InitBuffer(queue, 2, 64);
  for (int i = 0; i < 3; ++i) {
    LocalTensor<float> tensor = queue.AllocTensor<float>();
  }
}

extern "C" void never_freed() { run(never_freed_kernel, "never_freed", 1); }

// Reported:
// ascend-twin: never_freed: all 2 buffers of the queue are in use [no-free-tensor]
//   where   broken/never_freed.cpp:7, AllocTensor of a VECIN queue, block 0
//   hint    call FreeTensor for tensors that are no longer used, or ask InitBuffer for more buffers
