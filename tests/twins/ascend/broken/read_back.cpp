// What was stored in global memory is loaded again before the store is over.
extern "C" __global__ __aicore__ void read_back_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 64);
  pipe.InitBuffer(buffer, 128);
  LocalTensor<float> one = buffer.Get<float>(), other = one[16];
  Duplicate(one, 1.0f, 16);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(all, one, 16);
  DataCopy(other, all[8], 16);
}

extern "C" void read_back() { run(read_back_kernel, "read_back", 1); }

// Reported:
// ascend-twin: read_back: reads what DataCopy may still be writing [missing-sync]
//   where   broken/read_back.cpp:13, DataCopy on PIPE_MTE2, block 0
//   before  broken/read_back.cpp:12, DataCopy on PIPE_MTE3
//   memory  32 bytes at 0x…, byte 32 of the 256 bytes of GmAlloc's memory
//   needs   SetFlag<HardEvent::MTE3_MTE2> after the one, WaitFlag<HardEvent::MTE3_MTE2> before the other
//   hint    pipes run at the same time: pass the tensor by EnQue and DeQue, or put SetFlag and WaitFlag between
