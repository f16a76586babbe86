// DeQue before EnQue.
extern "C" __global__ __aicore__ void empty_queue_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 1, 64);
  queue.DeQue<float>();
}

extern "C" void empty_queue() { run(empty_queue_kernel, "empty_queue", 1); }

// Reported:
// ascend-twin: empty_queue: the queue is empty [queue-empty]
//   where   broken/empty_queue.cpp:6, DeQue of a VECIN queue, block 0
//   hint    EnQue a tensor before each DeQue; hardware would wait forever
