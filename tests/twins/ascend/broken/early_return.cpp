// One block returns before the others have met.
extern "C" __global__ __aicore__ void early_return_kernel(GM_ADDR x) {
  if (GetBlockIdx() == 1) return;
  SyncAll();
}

extern "C" void early_return() { run(early_return_kernel, "early_return", 2); }

// Reported:
// ascend-twin: early_return: waits for blocks that have ended [sync-all]
//   where   broken/early_return.cpp:4, SyncAll, block 0
//   ended   1 of 2 blocks, which called it less often
//   hint    call SyncAll equally often in all blocks; hardware would wait forever
