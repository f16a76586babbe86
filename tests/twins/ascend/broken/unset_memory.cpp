// A sum of what nobody has written, and one of it is looked at.
extern "C" __global__ __aicore__ void unset_memory_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 64);
  LocalTensor<float> tensor = buffer.Get<float>();
  Adds(tensor, tensor, 1.0f, 16);
  tensor.GetValue(3);
}

extern "C" void unset_memory() { run(unset_memory_kernel, "unset_memory", 1); }

// Reported:
// ascend-twin: unset_memory: reads local memory that nothing has written [uninitialised-local]
//   where   broken/unset_memory.cpp:8, GetValue on PIPE_S, block 0
//   memory  first byte 12 of the 64 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   hint    copy or Duplicate something into the tensor first: it holds what was there before
