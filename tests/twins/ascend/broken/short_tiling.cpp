// The host allocates less than the kernel's struct has.
struct LongTiling {
  uint32_t length, tiles;
  float scale;
};

extern "C" __global__ __aicore__ void short_tiling_kernel(GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(LongTiling, data, tiling);
}

extern "C" void short_tiling() {
  auto* const tiling = static_cast<uint8_t*>(GmAlloc(8));
  opbridge_ascend::launch("short_tiling", 1, [=] { short_tiling_kernel(tiling); });
  GmFree(tiling);
}

// Reported:
// ascend-twin: short_tiling: the kernel's struct has 12 bytes [tiling-mismatch]
//   where   broken/short_tiling.cpp:8, GET_TILING_DATA, block 0
//   memory  8 bytes are there for it
//   hint    use one definition of the struct in host and kernel, and pass the launch all of its bytes
