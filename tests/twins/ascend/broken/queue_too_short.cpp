// Two tensors in a queue of depth 1.
extern "C" __global__ __aicore__ void queue_too_short_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 2, 64);
  for (int i = 0; i < 2; ++i) {
    LocalTensor<float> tensor = queue.AllocTensor<float>();
    queue.EnQue(tensor);
  }
}

extern "C" void queue_too_short() { run(queue_too_short_kernel, "queue_too_short", 1); }

// Reported:
// ascend-twin: queue_too_short: the queue holds 1 tensors, which is its depth [queue-full]
//   where   broken/queue_too_short.cpp:8, EnQue of a VECIN queue, block 0
//   hint    DeQue before the next EnQue, or give the TQue a greater depth
