// How hosts start kernels, and the memory that they share with them.
#ifndef OPBRIDGE_ASCEND_LAUNCH_H
#define OPBRIDGE_ASCEND_LAUNCH_H

#include <opbridge_ascend/device.h>
#include <stddef.h>
#include <stdint.h>

#include <initializer_list>
#include <type_traits>

extern "C" {
typedef struct ob_ascend_kernel {
  const char* name;
  void (*body)(void* state);
  void* state;
  // A Cores: a mixed kernel has two cores a block with a vector unit each, where the chip has them apart from the one
  // with the matrix unit.
  int cores;
  int auto_sync;  // whether the compiler of the NPU would put what --cce-auto-sync puts
  const void* const* addresses;
  uint32_t address_count;  // of what the kernel is passed; none: its host does not say
} ob_ascend_kernel;

// Runs body(state) on each core of each block, on all processors; 0, or an error that has been reported.
uint32_t ob_ascend_launch(const ob_ascend_kernel* kernel, uint32_t blocks);

// Sets whether later launches run nothing, to separate the results of kernels from those of other code.
void ob_ascend_mute(int on);

// Memory of the host's that kernels may use, and whose bounds are watched.
void ob_ascend_adopt(const void* begin, uint64_t bytes, const char* name);
void ob_ascend_release(const void* begin);

void* ob_ascend_allocate(uint64_t bytes);
void ob_ascend_free(void* memory);

// Records that a host has written a tiling struct of so many bytes there.
void ob_ascend_note_tiling(const void* begin, uint64_t bytes);

// What TILING_KEY_IS compares with, for launches to come.
void ob_ascend_set_tiling_key(uint64_t key);

// From now on it is noted who writes what to global memory, or no longer; what was noted is forgotten.
void ob_ascend_note_writers(int wanted);
// The block that wrote a byte first, in the last launch that did, and its instruction; null where none has.  The text
// stays until the next call from this thread.
const char* ob_ascend_writer_of(const void* address);

// A host that shows reports itself: nothing goes to stderr, and the exit code of the process is left alone.
void ob_ascend_attach_host();
// What was reported since the last call, null for nothing.  The text stays until the next call from this thread.
const char* ob_ascend_take_reports();
}

// Off where a project compiles with --cce-auto-sync=off.
#ifndef OPBRIDGE_ASCEND_AUTO_SYNC
#define OPBRIDGE_ASCEND_AUTO_SYNC 1
#endif

namespace opbridge_ascend {

// The cores that a kernel runs on.  Mixed kernels run on the core with the matrix unit and on its vector cores: on all
// of them, or on one.
enum class Cores { unsaid, vector, cube, mixed, mixed_with_one };

template <class Call>
uint32_t launch(const char* kernel, uint32_t blocks, Call call, Cores cores = Cores::unsaid,
                std::initializer_list<const void*> addresses = {}) {
  const auto body = [](void* state) { (*static_cast<Call*>(state))(); };
  const ob_ascend_kernel whole{kernel,
                               body,
                               &call,
                               static_cast<int>(cores),
                               OPBRIDGE_ASCEND_AUTO_SYNC,
                               addresses.begin(),
                               static_cast<uint32_t>(addresses.size())};
  return ob_ascend_launch(&whole, blocks);
}

// A kernel's argument as the kernel meets it: of the memory of a device, what the window shows.
template <class Argument>
Argument on_device(Argument argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    return (Argument)ob_ascend_window((const void*)argument);
  } else {
    return argument;
  }
}

// What of an argument is an address of global memory.
template <class Argument>
const void* address_of(const Argument& argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    return (const void*)on_device(argument);
  } else {
    return nullptr;
  }
}

// What `k<<<blocks, l2control, stream>>>` becomes: called with the kernel's arguments, it launches.
template <Cores cores, class Kernel>
class Configured {
 public:
  Configured(const char* name, uint32_t blocks, Kernel kernel) : name_(name), blocks_(blocks), kernel_(kernel) {}

  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    launch(name_, blocks_, [&] { kernel_(on_device(arguments)...); }, cores, {address_of(arguments)...});
  }

 private:
  const char* name_;
  uint32_t blocks_;
  Kernel kernel_;
};

template <Cores cores, class Stream, class Control, class Kernel>
Configured<cores, Kernel> configured(const char* name, Kernel kernel, uint32_t blocks, Control, Stream) {
  return {name, blocks, kernel};
}

}  // namespace opbridge_ascend

// The cores of kernels that declare no type.  In a source with REGIST_MATMUL_OBJ they are mixed: a core with a matrix
// unit has two vector cores, and a kernel that multiplies runs on each of these.
#ifndef OPBRIDGE_ASCEND_CORES
#define OPBRIDGE_ASCEND_CORES ::opbridge_ascend::Cores::unsaid
#endif

#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel

#endif
