// A tensor goes into a queue that it does not come from.
extern "C" __global__ __aicore__ void other_queue_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  pipe.InitBuffer(in, 1, 64);
  pipe.InitBuffer(out, 1, 64);
  LocalTensor<float> tensor = in.AllocTensor<float>();
  out.EnQue(tensor);
}

extern "C" void other_queue() { run(other_queue_kernel, "other_queue", 1); }

// Reported:
// ascend-twin: other_queue: the tensor is not of this queue [wrong-queue]
//   where   broken/other_queue.cpp:9, EnQue of a VECOUT queue, block 0
//   hint    return each tensor once, to the queue that allocated it
