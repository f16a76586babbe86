// The mask is still the one for a tail of 16 elements.
extern "C" __global__ __aicore__ void left_over_mask_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, 256);
  pipe.InitBuffer(to, 256);
  Duplicate(from.Get<float>(), 1.0f, 64);
  SetVectorMask<float>(0, 0xffff);
  Adds<float, false>(to.Get<float>(), from.Get<float>(), 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(all, to.Get<float>(), 64);
}

extern "C" void left_over_mask() { run(left_over_mask_kernel, "left_over_mask", 1); }

// Reported:
// ascend-twin: left_over_mask: reads local memory that nothing has written [uninitialised-local]
//   where   broken/left_over_mask.cpp:14, DataCopy on PIPE_MTE3, block 0
//   memory  first byte 64 of the 256 bytes of a VECCALC tensor at 0x100 of the unified buffer
//   written last by broken/left_over_mask.cpp:9, Adds on PIPE_V: bytes 0 to 63
//   mask    16 of 64 lanes, set at broken/left_over_mask.cpp:8
//   hint    copy or Duplicate something into the tensor first: it holds what was there before
