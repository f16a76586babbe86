// The vector unit reads the unified buffer and nothing else.
extern "C" __global__ __aicore__ void vector_on_l1_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::A1> buffer;
  pipe.InitBuffer(buffer, 64);
  Duplicate(buffer.Get<float>(), 1.0f, 16);
}

extern "C" void vector_on_l1() { run(vector_on_l1_kernel, "vector_on_l1", 1); }

// Reported:
// ascend-twin: vector_on_l1: write of a tensor of A1 [bad-parameter]
//   where   broken/vector_on_l1.cpp:6, Duplicate on PIPE_V, block 0
//   expected one of a memory that the pipe reaches, which L1 is not
//   hint    split the instruction, or correct the parameter
