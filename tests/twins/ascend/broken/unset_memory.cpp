// An addition of what nobody has written.
extern "C" __global__ __aicore__ void unset_memory_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  LocalTensor<float> tensor = buffer.Get<float>();
  Adds(tensor, tensor, 1.0f, 16);
}

extern "C" void unset_memory() { run(unset_memory_kernel, "unset_memory", 1); }

// Reported:
// ascend-twin: unset_memory: reads local memory that nothing has written [uninitialised-local]
//   where   broken/unset_memory.cpp:7, Adds on PIPE_V, block 0
//   memory  first byte 0 of the 64 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   to do   copy or Duplicate something into the tensor first: it holds what was there before
