// All broken kernels in one library, each behind a function of its own.
#include "kernel_tiling/kernel_tiling.h"
#include "lib/matmul_intf.h"
#include "tikicpulib.h"

using namespace AscendC;

// Runs a kernel on zeros.
static void run(void (*kernel)(GM_ADDR), const char* name, uint32_t blocks, uint32_t bytes = 256) {
  auto* const x = static_cast<uint8_t*>(GmAlloc(bytes));
  memset(x, 0, bytes);
  opbridge_ascend::launch(name, blocks, [=] { kernel(x); });
  GmFree(x);
}

#include "broken/atomic_mode.cpp"
#include "broken/between_blocks.cpp"
#include "broken/between_fractals.cpp"
#include "broken/early_return.cpp"
#include "broken/empty_cube_tiling.cpp"
#include "broken/empty_queue.cpp"
#include "broken/flag_left_set.cpp"
#include "broken/flag_never_set.cpp"
#include "broken/freed_tensor.cpp"
#include "broken/large_buffers.cpp"
#include "broken/large_left.cpp"
#include "broken/last_tile.cpp"
#include "broken/left_in_queue.cpp"
#include "broken/little_work.cpp"
#include "broken/long_stride.cpp"
#include "broken/longer_than_buffer.cpp"
#include "broken/longer_than_memory.cpp"
#include "broken/lost_remainder.cpp"
#include "broken/many_repeats.cpp"
#include "broken/many_rows.cpp"
#include "broken/never_freed.cpp"
#include "broken/never_initialised.cpp"
#include "broken/ninth_event.cpp"
#include "broken/no_blocks.cpp"
#include "broken/no_flag_after_copy.cpp"
#include "broken/no_flag_before_copy.cpp"
#include "broken/no_flag_before_fixpipe.cpp"
#include "broken/no_sync_between_blocks.cpp"
#include "broken/only_on_many_blocks.cpp"
#include "broken/other_queue.cpp"
#include "broken/other_tiling.cpp"
#include "broken/part_of_a_block.cpp"
#include "broken/queue_too_short.cpp"
#include "broken/read_back.cpp"
#include "broken/scalar_too_early.cpp"
#include "broken/set_twice.cpp"
#include "broken/short_tiling.cpp"
#include "broken/sides_swapped.cpp"
#include "broken/too_many_buffers.cpp"
#include "broken/two_parts.cpp"
#include "broken/unset_memory.cpp"
#include "broken/used_up_buffer.cpp"
#include "broken/vector_on_cube.cpp"
#include "broken/vector_on_l1.cpp"
#include "broken/write_by_all.cpp"
