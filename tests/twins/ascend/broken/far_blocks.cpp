// Written for eight blocks, and started with more: the others begin beyond all memory.
extern "C" __global__ __aicore__ void far_blocks_kernel(GM_ADDR x) {
  GlobalTensor<float> mine;
  mine.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * 8, 8);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 32);
  DataCopy(buffer.Get<float>(), mine, 8);
}

extern "C" void far_blocks() { run(far_blocks_kernel, "far_blocks", 9); }

// Reported:
// ascend-twin: far_blocks: read of 32 bytes outside of all memory that the kernel was given [out-of-bounds]
//   where   broken/far_blocks.cpp:8, DataCopy on PIPE_MTE2, block 8
//   address 0x…, 0 bytes after the end of GmAlloc's memory
//   hint    compare offset and count with the tensor's size; the last tile is often shorter
