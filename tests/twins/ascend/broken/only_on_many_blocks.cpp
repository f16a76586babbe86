// A block's share fits into the unified buffer where there are enough blocks.
extern "C" __global__ __aicore__ void only_on_many_blocks_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 400 * 1024 / GetBlockNum());
}

extern "C" void only_on_many_blocks() { run(only_on_many_blocks_kernel, "only_on_many_blocks", 4); }

// Variable: OPBRIDGE_TWIN_CHECKS=blocks
// Reported:
// ascend-twin: only_on_many_blocks: runs on 4 blocks, and not on 1 block [depends-on-blocks]
//   found   1 buffers of 409600 bytes do not fit into the unified buffer
//   at      broken/only_on_many_blocks.cpp:5, InitBuffer of VECCALC, block 0
//   hint    divide the work by GetBlockNum so that any number of blocks does all of it once
