// The last tile is as long as the others, and the tensor is not.
extern "C" __global__ __aicore__ void last_tile_kernel(GM_ADDR x) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<float> all;
  all.SetGlobalBuffer((__gm__ float*)x, 52);
  pipe.InitBuffer(buffer, 32 * sizeof(float));
  for (int tile = 0; tile < 2; ++tile) {
    DataCopy(buffer.Get<float>(), all[tile * 32], 32);
  }
}

extern "C" void last_tile() { run(last_tile_kernel, "last_tile", 1, 52 * sizeof(float)); }

// Reported:
// ascend-twin: last_tile: read of 128 bytes out of a global tensor's bounds [out-of-bounds]
//   where   broken/last_tile.cpp:9, DataCopy on PIPE_MTE2, block 0
//   address 0x…, byte 128 of the 208 bytes of GmAlloc's memory
//   hint    compare offset and count with the tensor's size; the last tile is often shorter
