// What the compiler puts between scalar and other pipes orders no two others.
extern "C" __global__ __aicore__ void stored_too_early_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  pipe.InitBuffer(buffer, 128);
  LocalTensor<float> one = buffer.Get<float>(), other = one[16];
  Duplicate(one, 1.0f, 16);
  Duplicate(other, 2.0f, 16);
  one.GetValue(0);
  DataCopy(all, one, 16);
  DataCopy(all[16], other, 16);
}

extern "C" void stored_too_early() { run(stored_too_early_kernel, "stored_too_early", 1); }

// Reported:
// ascend-twin: stored_too_early: reads what Duplicate may still be writing [missing-sync]
//   where   broken/stored_too_early.cpp:13, DataCopy on PIPE_MTE3, block 0
//   before  broken/stored_too_early.cpp:10, Duplicate on PIPE_V
//   memory  byte 64 of the 128 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   needs   SetFlag<HardEvent::V_MTE3> after the one, WaitFlag<HardEvent::V_MTE3> before the other
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
