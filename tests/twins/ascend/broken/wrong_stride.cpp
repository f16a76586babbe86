// Repeats of 64 floats stand 8 blocks apart, and the destination's stride says 16.
extern "C" __global__ __aicore__ void wrong_stride_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, 512);
  pipe.InitBuffer(to, 1024);
  Duplicate(from.Get<float>(), 1.0f, 128);
  Adds(to.Get<float>(), from.Get<float>(), 1.0f, 64, 2, {1, 1, 16, 8});
  Muls(to.Get<float>(), to.Get<float>(), 2.0f, 128);
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 128);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(all, to.Get<float>(), 128);
}

extern "C" void wrong_stride() { run(wrong_stride_kernel, "wrong_stride", 1, 512); }

// Reported:
// ascend-twin: wrong_stride: reads local memory that nothing has written [uninitialised-local]
//   where   broken/wrong_stride.cpp:14, DataCopy on PIPE_MTE3, block 0
//   memory  first byte 256 of the 1024 bytes of a VECCALC tensor at 0x200 of the unified buffer
//   written last by broken/wrong_stride.cpp:8, Adds on PIPE_V: 2 stretches of 256 bytes, one each 512 bytes, from byte 0 on
//   hint    copy or Duplicate something into the tensor first: it holds what was there before
