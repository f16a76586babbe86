// A tensor is used after it went back to its queue, and another one has its memory.
extern "C" __global__ __aicore__ void freed_tensor_kernel(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, 64);
  LocalTensor<float> tensor = queue.AllocTensor<float>();
  queue.FreeTensor(tensor);
  LocalTensor<float> other = queue.AllocTensor<float>();
  Duplicate(tensor, 1.0f, 16);
  queue.FreeTensor(other);
}

extern "C" void freed_tensor() { run(freed_tensor_kernel, "freed_tensor", 1); }

// Reported:
// ascend-twin: freed_tensor: write of a local tensor that is freed, and whose memory another has [use-after-free]
//   where   broken/freed_tensor.cpp:9, Duplicate on PIPE_V, block 0
//   since   broken/freed_tensor.cpp:8
//   hint    call FreeTensor after the last instruction that uses the tensor
