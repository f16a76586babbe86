// What the compiler's other instrumentation finds: vector types at addresses that no GPU takes, indices beyond a
// declared array, which may end in the array's own neighbour and so stay in bounds of the memory, and divisions by
// zero, which end a process of the host's.
#include "describe.h"
#include "launch.h"
#include "state.h"

namespace {

// As the compiler lays them out.
struct SourceLocation {
  const char* file;
  uint32_t line;
  uint32_t column;
};

// The layouts below are those that compilers emit for -fsanitize=undefined.
struct TypeDescriptor {
  uint16_t kind;
  uint16_t info;
  char name[1];  // quoted
};

struct TypeMismatch {
  SourceLocation location;
  const TypeDescriptor* type;
  unsigned char log_alignment;
  unsigned char access;  // 0 is a load, 1 a store, others bind and call
};

struct OutOfBounds {
  SourceLocation location;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};

struct Division {
  SourceLocation location;
  const TypeDescriptor* type;
};

using namespace opbridge_twin;
using namespace opbridge_twin::checks;

Report report_at(Kind kind, const SourceLocation& location, std::string what) {
  const Block& block = *worker.block;
  const std::string where = place(location.file, location.line);
  Report report{kind, block.launch().kernel, std::move(what), {}, where, block.linear(), worker.thread()};
  report.details = {{"where", where + ", " + thread_in_words(block.launch().info, block.linear(), worker.thread())}};
  return report;
}

}  // namespace

extern "C" {

void __ubsan_handle_type_mismatch_v1(const TypeMismatch* data, uintptr_t address) {
  if (worker.block == nullptr) return;    // host code: the machine takes it
  constexpr unsigned kWidestAccess = 16;  // of a GPU: what a larger type is aligned to besides is nobody's need
  if (address != 0 && address % kWidestAccess == 0) return;
  const std::string type = data->type->name;
  const std::string verb = data->access == 1 ? "write" : "read";
  Report report = report_at(Kind::misaligned, data->location,
                            verb + " of type " + type + " at an address that is not a multiple of " +
                                std::to_string(1u << data->log_alignment));
  report.details.emplace_back("address", hexadecimal(address));
  found(std::move(report));
}

void __ubsan_handle_out_of_bounds(const OutOfBounds* data, uintptr_t index) {
  if (worker.block == nullptr) return;
  const bool is_signed = (data->index->info & 1) != 0;
  const std::string number = is_signed ? std::to_string(static_cast<intptr_t>(index)) : std::to_string(index);
  found(
      report_at(Kind::index, data->location, "index " + number + " is beyond the array of type " + data->array->name));
}

void __ubsan_handle_divrem_overflow(const Division* data, uintptr_t, uintptr_t) {
  if (worker.block == nullptr) return;
  found(report_at(Kind::division_by_zero, data->location,
                  std::string("division of a number of type ") + data->type->name + " by zero"));
}
}
