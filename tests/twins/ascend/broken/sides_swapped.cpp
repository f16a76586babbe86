// The right matrix stands where the left one should.
extern "C" __global__ __aicore__ void sides_swapped_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::A2> left;
  TBuf<TPosition::B2> right;
  TBuf<TPosition::CO1> sums;
  pipe.InitBuffer(left, 512);
  pipe.InitBuffer(right, 512);
  pipe.InitBuffer(sums, 1024);
  Mmad(sums.Get<float>(), right.Get<half>(), left.Get<half>(), MmadParams(16, 16, 16, 0, false, true));
}

extern "C" void sides_swapped() { run(sides_swapped_kernel, "sides_swapped", 1); }

// Reported:
// ascend-twin: sides_swapped: fm is a tensor of B2 [bad-parameter]
//   where   broken/sides_swapped.cpp:10, Mmad on PIPE_M, block 0
//   expected a tensor of A2
//   hint    split the instruction, or correct the parameter
