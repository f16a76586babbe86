// The launches that a GPU of the twin's kind runs.
#ifndef OPBRIDGE_TWIN_RUNTIME_CUDART_LAUNCH_LIMITS_H
#define OPBRIDGE_TWIN_RUNTIME_CUDART_LAUNCH_LIMITS_H

#include <stdint.h>

#include <optional>
#include <string>

#include "engine/launch.h"

namespace opbridge_twin {

inline checks::Dim dim(ob_twin_dim d) { return {d.x, d.y, d.z}; }

// The blocks that the device holds at a time.
uint64_t resident_blocks(ob_twin_dim block, size_t shared_bytes);

// Why no GPU of the twin's kind runs a launch: the error that it ends with, and what a report says.
struct Objection {
  cudaError_t error;
  std::string why;
  std::string advice;
};
std::optional<Objection> objection(const Configuration& c, const ob_twin_kernel* kernel);

}  // namespace opbridge_twin
#endif
