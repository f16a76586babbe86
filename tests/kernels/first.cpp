// Exports a kernel whose name another file exports too.
#include <opbridge/kernel.h>

void answer(ob::In<float>, ob::Out<float> out) { out[0] = 1; }
OB_KERNEL(answer)
