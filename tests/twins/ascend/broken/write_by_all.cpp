// Each block writes a block of 32 bytes, and only its first element is its own.
extern "C" __global__ __aicore__ void write_by_all_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x);
  pipe.InitBuffer(buffer, 32);
  LocalTensor<float> mine = buffer.Get<float>();
  Duplicate(mine, 1.0f, 8);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(all[GetBlockIdx()], mine, 8);
}

extern "C" void write_by_all() { run(write_by_all_kernel, "write_by_all", 2); }

// Reported:
// ascend-twin: write_by_all: another block writes the same bytes, and nothing orders the two [global-race]
//   where   broken/write_by_all.cpp:12, DataCopy on PIPE_MTE3, block 0
//   other   broken/write_by_all.cpp:12, DataCopy on PIPE_MTE3, block 1
//   memory  28 bytes at 0x…, byte 4 of the 256 bytes of GmAlloc's memory
//   hint    let each block write its own bytes, put SyncAll between the two, or use SetAtomicAdd
