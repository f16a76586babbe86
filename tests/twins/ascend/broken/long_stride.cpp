// A repeat's stride beyond what 8 bits count.
extern "C" __global__ __aicore__ void long_stride_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 20 * 1024);
  Duplicate(buffer.Get<float>(), 1.0f, 64, 2, 1, 300);
}

extern "C" void long_stride() { run(long_stride_kernel, "long_stride", 1); }

// Reported:
// ascend-twin: long_stride: dstRepStride is 300 [bad-parameter]
//   where   broken/long_stride.cpp:6, Duplicate on PIPE_V, block 0
//   expected at most 255 blocks of 32 bytes
//   hint    split the instruction, or correct the parameter
