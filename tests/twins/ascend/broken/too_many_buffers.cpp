// 65 buffers in all.
extern "C" __global__ __aicore__ void too_many_buffers_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queues[5];
  for (auto& queue : queues) pipe.InitBuffer(queue, 13, 32);
}

extern "C" void too_many_buffers() { run(too_many_buffers_kernel, "too_many_buffers", 1); }

// Reported:
// ascend-twin: too_many_buffers: 65 buffers, and a kernel has at most 64 [local-budget]
//   where   broken/too_many_buffers.cpp:5, InitBuffer of VECIN, block 0
//   hint    use smaller tiles or fewer buffers; OPBRIDGE_ASCEND_SOC names another chip
