// More repeats than 8 bits count.
extern "C" __global__ __aicore__ void many_repeats_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 300 * 256);
  LocalTensor<float> tensor = buffer.Get<float>();
  Duplicate(tensor, 1.0f, 64, 300, 1, 8);
}

extern "C" void many_repeats() { run(many_repeats_kernel, "many_repeats", 1); }

// Reported:
// ascend-twin: many_repeats: repeatTime is 300 [bad-parameter]
//   where   broken/many_repeats.cpp:7, Duplicate on PIPE_V, block 0
//   expected at most 255, as the hardware counts in 8 bits
//   hint    split the instruction, or correct the parameter
