// The last tensor is not taken out.
extern "C" __global__ __aicore__ void left_in_queue_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 1, 64);
  LocalTensor<float> tensor = queue.AllocTensor<float>();
  queue.EnQue(tensor);
}

extern "C" void left_in_queue() { run(left_in_queue_kernel, "left_in_queue", 1); }

// Reported:
// ascend-twin: left_in_queue: a tensor is left in its queue [unfreed-tensor]
//   where   broken/left_in_queue.cpp:7, block 0
//   hint    call FreeTensor for each AllocTensor, and DeQue for each EnQue
