// A load of whole blocks goes beyond the tensor's end, and what it found there is stored.
extern "C" __global__ __aicore__ void used_tail_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 13);
  pipe.InitBuffer(buffer, 64);
  LocalTensor<float> tensor = buffer.Get<float>();
  DataCopy(tensor, all, 16);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Adds(tensor, tensor, 1.0f, 16);
  PipeBarrier<PIPE_ALL>();
  DataCopyPad(all, tensor, DataCopyExtParams{1, 14 * sizeof(float), 0, 0, 0});
}

extern "C" void used_tail() { run(used_tail_kernel, "used_tail", 1, 13 * sizeof(float)); }

// Reported:
// ascend-twin: used_tail: reads local memory that nothing has written [uninitialised-local]
//   where   broken/used_tail.cpp:14, DataCopyPad on PIPE_MTE3, block 0
//   memory  first byte 52 of the 64 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   unknown since broken/used_tail.cpp:9, DataCopy on PIPE_MTE2, which leaves it undefined
//   hint    copy or Duplicate something into the tensor first: it holds what was there before
// ascend-twin: used_tail: write of 56 bytes out of a global tensor's bounds [out-of-bounds]
//   where   broken/used_tail.cpp:14, DataCopyPad on PIPE_MTE3, block 0
//   address 0x…, byte 0 of the 52 bytes of GmAlloc's memory
//   hint    compare offset and count with the tensor's size; the last tile is often shorter
