// The tensor claims more than was allocated.
extern "C" __global__ __aicore__ void longer_than_memory_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x);
  pipe.InitBuffer(buffer, 512);
  DataCopy(buffer.Get<float>(), all, 128);
}

extern "C" void longer_than_memory() { run(longer_than_memory_kernel, "longer_than_memory", 1); }

// Reported:
// ascend-twin: longer_than_memory: read of 512 bytes out of a global tensor's bounds [out-of-bounds]
//   where   broken/longer_than_memory.cpp:8, DataCopy on PIPE_MTE2, block 0
//   address 0x…, byte 0 of the 256 bytes of GmAlloc's memory
//   hint    compare offset and count with the tensor's size; the last tile is often shorter
