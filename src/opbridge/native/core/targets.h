// The Targets that MindSpore can reach, by the number a primitive carries as its attribute.
//
// No string here either: core/mindspore_entry.cpp is compiled with another std::string than the rest.
#ifndef OPBRIDGE_NATIVE_CORE_TARGETS_H
#define OPBRIDGE_NATIVE_CORE_TARGETS_H

#include <memory>

#include "../target.h"

namespace opbridge {

// Null where nothing is published under this number any more.
std::shared_ptr<Target> published_target(int64_t id);

}  // namespace opbridge

#endif
