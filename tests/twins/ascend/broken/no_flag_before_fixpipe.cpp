// The product is taken away before it is computed.
extern "C" __global__ __aicore__ void no_flag_before_fixpipe_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::A2> left;
  TBuf<TPosition::B2> right;
  TBuf<TPosition::CO1> sums;
  GlobalTensor<half> from;
  GlobalTensor<float> to;
  from.SetGlobalBuffer((__gm__ half*)x, 256);
  to.SetGlobalBuffer((__gm__ float*)x, 256);
  pipe.InitBuffer(left, 512);
  pipe.InitBuffer(right, 512);
  pipe.InitBuffer(sums, 1024);
  LoadData(left.Get<half>(), from, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(right.Get<half>(), from, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  SetFlag<HardEvent::MTE2_M>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_M>(EVENT_ID0);
  Mmad(sums.Get<float>(), left.Get<half>(), right.Get<half>(), MmadParams(16, 16, 16, 0, false, true));
  Fixpipe(to, sums.Get<float>(), FixpipeParamsV220(8, 8, 16, 8, false));
  PipeBarrier<PIPE_ALL>();
}

extern "C" void no_flag_before_fixpipe() { run(no_flag_before_fixpipe_kernel, "no_flag_before_fixpipe", 1, 512); }

// Reported:
// ascend-twin: no_flag_before_fixpipe: reads what Mmad may still be writing [missing-sync]
//   where   broken/no_flag_before_fixpipe.cpp:19, Fixpipe on PIPE_FIX, block 0
//   before  broken/no_flag_before_fixpipe.cpp:18, Mmad on PIPE_M
//   memory  byte 0 of the 1024 bytes of a CO1 tensor at 0x0 of L0C
//   needs   SetFlag<HardEvent::M_FIX> after the one, WaitFlag<HardEvent::M_FIX> before the other
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
