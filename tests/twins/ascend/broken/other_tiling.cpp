// The host's struct has a field that the kernel's has not.
BEGIN_TILING_DATA_DEF(OtherTiling)
TILING_DATA_FIELD_DEF(uint64_t, length);
TILING_DATA_FIELD_DEF(uint64_t, tiles);
END_TILING_DATA_DEF;

struct TilingOfKernel {
  uint64_t tiles;
};

extern "C" __global__ __aicore__ void other_tiling_kernel(GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(TilingOfKernel, data, tiling);
}

extern "C" void other_tiling() {
  OtherTiling data;
  data.set_length(1024);
  data.set_tiles(4);
  auto* const tiling = static_cast<uint8_t*>(GmAlloc(64));
  data.SaveToBuffer(tiling, 64);
  opbridge_ascend::launch("other_tiling", 1, [=] { other_tiling_kernel(tiling); });
  GmFree(tiling);
}

// Reported:
// ascend-twin: other_tiling: the kernel's struct has 8 bytes [tiling-mismatch]
//   where   broken/other_tiling.cpp:12, GET_TILING_DATA, block 0
//   memory  16 bytes has the struct that the host's SaveToBuffer wrote there
//   hint    use one definition of the struct in host and kernel, and pass the launch all of its bytes
