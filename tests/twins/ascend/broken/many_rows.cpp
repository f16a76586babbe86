// More rows than 12 bits count.
extern "C" __global__ __aicore__ void many_rows_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  pipe.InitBuffer(buffer, 5000 * 32);
  DataCopyPad(buffer.Get<float>(), all, DataCopyExtParams{5000, 4, 0, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0});
}

extern "C" void many_rows() { run(many_rows_kernel, "many_rows", 1); }

// Reported:
// ascend-twin: many_rows: blockCount is 5000 [bad-parameter]
//   where   broken/many_rows.cpp:8, DataCopyPad on PIPE_MTE2, block 0
//   expected at most 4095, as the hardware counts in 12 bits
//   hint    split the instruction, or correct the parameter
