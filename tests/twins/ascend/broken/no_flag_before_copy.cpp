// The next tile is loaded while the last one is still being used.
extern "C" __global__ __aicore__ void no_flag_before_copy_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> in, out;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  pipe.InitBuffer(in, 128);
  pipe.InitBuffer(out, 128);
  for (int tile = 0; tile < 2; ++tile) {
    DataCopy(in.Get<float>(), all[tile * 32], 32);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(out.Get<float>(), in.Get<float>(), 1.0f, 32);
  }
}

extern "C" void no_flag_before_copy() { run(no_flag_before_copy_kernel, "no_flag_before_copy", 1); }

// Reported:
// ascend-twin: no_flag_before_copy: writes what Adds may still be reading [missing-sync]
//   where   broken/no_flag_before_copy.cpp:10, DataCopy on PIPE_MTE2, block 0
//   before  broken/no_flag_before_copy.cpp:13, Adds on PIPE_V
//   memory  byte 0 of the 128 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   needs   SetFlag<HardEvent::V_MTE2> after the one, WaitFlag<HardEvent::V_MTE2> before the other
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
