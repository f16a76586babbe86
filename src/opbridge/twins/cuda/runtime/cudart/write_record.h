// A record of what is written to memory of the device during a call, and by whom: kernels and NVIDIA's libraries, or
// others (frameworks, copies, the host).
// A judge asks for it, to see whether kernels compute a result or only move what others have computed.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_WRITE_RECORD_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_WRITE_RECORD_H

#include <stddef.h>

namespace opbridge_twin {

// A launch begins: what has changed since the record was last told was written by others.
void others_wrote();
// A launch is over: what has changed was written by its kernel.
void kernels_wrote();
// A function of an NVIDIA library is about to write to the allocation of this address.
void library_writes(const void* address);
// A copy has brought bytes to the host, or from there to the device.
void crossed(bool to_host, size_t bytes);

}  // namespace opbridge_twin
#endif
