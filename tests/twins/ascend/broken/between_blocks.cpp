// A vector instruction starts between two blocks of 32 bytes.
extern "C" __global__ __aicore__ void between_blocks_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 128);
  Duplicate(buffer.Get<float>()[3], 1.0f, 8);
}

extern "C" void between_blocks() { run(between_blocks_kernel, "between_blocks", 1); }

// Reported:
// ascend-twin: between_blocks: dst does not start at a multiple of 32 bytes [misaligned]
//   where   broken/between_blocks.cpp:6, Duplicate on PIPE_V, block 0
//   memory  it is byte 12 of the 128 bytes of a VECCALC tensor at 0x0 of the unified buffer
//   hint    start at a multiple of the alignment; DataCopyPad takes any address in global memory
