// A block reads what its neighbour writes, and does not wait for it.
extern "C" __global__ __aicore__ void no_sync_between_blocks_kernel(GM_ADDR x) {
  GlobalTensor<int32_t> all;
  all.SetGlobalBuffer((__gm__ int32_t*)x, 64);
  all.SetValue(16 * GetBlockIdx(), 1);
  if (GetBlockIdx() == 0) all.GetValue(16);
}

extern "C" void no_sync_between_blocks() { run(no_sync_between_blocks_kernel, "no_sync_between_blocks", 2); }

// Reported:
// ascend-twin: no_sync_between_blocks: reads what block 1 writes, and nothing orders the two [global-race]
//   where   broken/no_sync_between_blocks.cpp:6, GetValue on PIPE_S, block 0
//   other   broken/no_sync_between_blocks.cpp:5, SetValue on PIPE_S, block 1
//   memory  4 bytes at 0x…, byte 64 of the 256 bytes of GmAlloc's memory
//   hint    let each block write its own bytes, put SyncAll between the two, or use SetAtomicAdd
