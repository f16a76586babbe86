// The rest of what instrumented code calls: narrow and wide accesses, volatile ones, atomics, and copies.
#include <string.h>

#include <algorithm>
#include <utility>

#include "checks.h"
#include "launch.h"
#include "locals.h"
#include "profile.h"
#include "state.h"

#define HERE __builtin_return_address(0)
#define FRAME __builtin_dwarf_cfa()
// To a profile, if there is one.
#define TELL(BYTES, KIND) profile::accessed(memory, BYTES, profile::Kind::KIND, HERE, FRAME)

namespace opbridge_twin::checks {

namespace {

// So many atomics in a row, and a thread may be waiting for one that has not had its turn.
constexpr uint32_t kManySpins = 1000;
// One of so many such rows may be a wait for another block.
constexpr uint32_t kManyRows = 64;
// So often a thread finds the same value in the same place, and it waits for another one to change that.
constexpr uint32_t kPatience = 64;
// After which it looks that often in each of its turns.
constexpr uint32_t kFewLooks = 4;

void touch(const volatile void* memory, size_t bytes, Access access, const void* at) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (bytes == 0) return;
  if (is_on_stack(address)) return stack_access(address, bytes, access, at);
  if (is_out_of_scope(address)) return;
  slow_access(address, bytes, access, at);
}

bool is_shared(const volatile void* memory) {
  return reinterpret_cast<uintptr_t>(memory) - worker.shared_begin < worker.shared_bytes;
}

void let_others_run() {
  Worker& self = worker;
  if (self.vain_looks >= self.patience) {
    self.patience = kFewLooks;
    return ob_twin_yield(1);
  }
  if (++self.spins < kManySpins) return;
  self.spins = 0;
  self.rows = (self.rows + 1) % kManyRows;
  ob_twin_yield(self.rows == 0);
}

// A thread that has found a value, and has left it as it was, may be waiting for another one.
void note_look(const volatile void* memory, uint64_t found, bool changed) {
  Worker& self = worker;
  const bool again = !changed && self.looked_at == memory && self.looked_for == found;
  self.vain_looks = again ? self.vain_looks + 1 : 0;
  if (again) return;
  self.looked_at = memory;
  self.looked_for = found;
  self.patience = kPatience;
}

template <class T>
uint64_t value_at(const volatile T* memory) {
  return static_cast<uint64_t>(__atomic_load_n(memory, __ATOMIC_RELAXED));
}

uint64_t value_at(const volatile void* memory, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, const_cast<const void*>(memory), std::min(bytes, sizeof value));
  return value;
}

// What orders threads: told before the access, since others may see it at once.
void before_ordering(Access access, int order) {
  if (worker.block == nullptr) return;
  settle_suspicions();
  let_others_run();
  if (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST) {
    fence();
  }
  if (access.writes) worker.block->publish(worker.thread(), worker.narrow);
}

bool acquires(int order) {
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST ||
         order == __ATOMIC_CONSUME;
}

void after_ordering(Access access, bool acquires) {
  if (worker.block == nullptr || !access.reads) return;
  worker.block->acquire(worker.thread(), worker.narrow ? Look::of_block : acquires ? Look::ordered : Look::relaxed);
}

// Volatile accesses of global memory are how threads wait for one another without atomics.  In shared memory they are
// the mark of code that counts on the lanes of a warp being in step, which they are not.
void volatile_access(const volatile void* memory, size_t bytes, Access access, const void* at) {
  before_ordering(access, __ATOMIC_RELAXED);
  const bool passes_for_atomic = !is_shared(memory);
  touch(memory, bytes, {access.reads, access.writes, passes_for_atomic, false, false, passes_for_atomic}, at);
  if (worker.block != nullptr) note_look(memory, access.writes ? 0 : value_at(memory, bytes), access.writes);
  after_ordering(access, true);  // the calls for the accesses themselves state that it is volatile
}

// `touches` differs from what is ordered where the value found does not matter to the checks.
template <class T, class Operation>
T atomically(const volatile T* memory, Access access, Access touches, int order, const void* at, Operation operation) {
  before_ordering(access, order);
  touches.narrow = worker.narrow;
  touch(memory, sizeof(T), touches, at);
  if (worker.block == nullptr) return operation();
  const uint64_t before = value_at(memory);
  const T result = operation();
  note_look(memory, before, access.writes && value_at(memory) != before);
  after_ordering(access, acquires(order));
  return result;
}

template <class T, class Operation>
T atomically(const volatile T* memory, Access access, int order, const void* at, Operation operation) {
  return atomically<T>(memory, access, access, order, at, operation);
}

}  // namespace

}  // namespace opbridge_twin::checks

using namespace opbridge_twin;
using namespace opbridge_twin::checks;

extern "C" {

#define ACCESS(NAME, BYTES, KIND, FUNCTION, ACCESS) \
  void __tsan_##NAME##BYTES(void* memory) {         \
    TELL(BYTES, KIND);                              \
    FUNCTION(memory, BYTES, ACCESS, HERE);          \
  }

#define PLAIN(BYTES)                      \
  ACCESS(read, BYTES, load, touch, kLoad) \
  ACCESS(write, BYTES, store, touch, kStore)
PLAIN(1)
PLAIN(2)

#define UNALIGNED(BYTES)                            \
  ACCESS(unaligned_read, BYTES, load, touch, kLoad) \
  ACCESS(unaligned_write, BYTES, store, touch, kStore)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

#define VOLATILE(NAME, BYTES)                             \
  ACCESS(NAME##read, BYTES, load, volatile_access, kLoad) \
  ACCESS(NAME##write, BYTES, store, volatile_access, kStore)
VOLATILE(volatile_, 1)
VOLATILE(volatile_, 2)
VOLATILE(volatile_, 4)
VOLATILE(volatile_, 8)
VOLATILE(volatile_, 16)
VOLATILE(unaligned_volatile_, 2)
VOLATILE(unaligned_volatile_, 4)
VOLATILE(unaligned_volatile_, 8)
VOLATILE(unaligned_volatile_, 16)

void __tsan_read_range(void* memory, size_t bytes) {
  TELL(bytes, load);
  touch(memory, bytes, kLoad, HERE);
}
void __tsan_write_range(void* memory, size_t bytes) {
  TELL(bytes, store);
  touch(memory, bytes, kStore, HERE);
}

// Calls of virtual functions read the object's table, which the constructor wrote.
void __tsan_vptr_read(void** memory) { touch(memory, sizeof *memory, kLoad, HERE); }
void __tsan_vptr_update(void** memory, void*) { touch(memory, sizeof *memory, kStore, HERE); }

int ob_twin_narrow(int block_alone) { return std::exchange(worker.narrow, block_alone != 0); }

void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

void __tsan_atomic_thread_fence(int order) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (order != __ATOMIC_RELAXED) fence();
}
void __tsan_atomic_signal_fence(int) {}

#define UPDATE(BITS, T, NAME)                                                                     \
  T __tsan_atomic##BITS##_fetch_##NAME(volatile T* memory, T value, int order) {                  \
    TELL(sizeof(T), atomic);                                                                      \
    return atomically<T>(memory, kAtomicUpdate, order, HERE,                                      \
                         [=] { return __atomic_fetch_##NAME(memory, value, __ATOMIC_SEQ_CST); }); \
  }

#define EXCHANGE_IF(BITS, T, STRENGTH, WEAK, ACCESS)                                                                  \
  int __tsan_atomic##BITS##_compare_exchange_##STRENGTH(volatile T* memory, T* expected, T desired, int order, int) { \
    TELL_##STRENGTH(sizeof(T));                                                                                       \
    return static_cast<int>(atomically<T>(memory, ACCESS, order, HERE, [=] {                                          \
      return static_cast<T>(                                                                                          \
          __atomic_compare_exchange_n(memory, expected, desired, WEAK, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));          \
    }));                                                                                                              \
  }
#define TELL_strong(BYTES) TELL(BYTES, atomic)
// A weak one is how the twin's own headers make other atomics of it.
#define TELL_weak(BYTES) profile::attempted(memory, BYTES, HERE, FRAME)

#define ATOMICS(BITS, T)                                                                                    \
  T __tsan_atomic##BITS##_load(const volatile T* memory, int order) {                                       \
    TELL(sizeof(T), load);                                                                                  \
    return atomically<T>(memory, kAtomicLoad, order == __ATOMIC_SEQ_CST ? __ATOMIC_ACQUIRE : order, HERE,   \
                         [=] { return __atomic_load_n(memory, __ATOMIC_SEQ_CST); });                        \
  }                                                                                                         \
  void __tsan_atomic##BITS##_store(volatile T* memory, T value, int order) {                                \
    TELL(sizeof(T), store);                                                                                 \
    atomically<T>(memory, kAtomicStore, order, HERE, [=] {                                                  \
      __atomic_store_n(memory, value, __ATOMIC_SEQ_CST);                                                    \
      return value;                                                                                         \
    });                                                                                                     \
  }                                                                                                         \
  T __tsan_atomic##BITS##_exchange(volatile T* memory, T value, int order) {                                \
    TELL(sizeof(T), atomic);                                                                                \
    return atomically<T>(memory, kAtomicUpdate, kAtomicStore, order, HERE,                                  \
                         [=] { return __atomic_exchange_n(memory, value, __ATOMIC_SEQ_CST); });             \
  }                                                                                                         \
  UPDATE(BITS, T, add)                                                                                      \
  UPDATE(BITS, T, sub)                                                                                      \
  UPDATE(BITS, T, and)                                                                                      \
  UPDATE(BITS, T, or)                                                                                       \
  UPDATE(BITS, T, xor)                                                                                      \
  UPDATE(BITS, T, nand)                                                                                     \
  EXCHANGE_IF(BITS, T, strong, false, kCompareAndSwap)                                                      \
  EXCHANGE_IF(BITS, T, weak, true, kAtomicUpdate)                                                           \
  T __tsan_atomic##BITS##_compare_exchange_val(volatile T* memory, T expected, T desired, int order, int) { \
    TELL(sizeof(T), atomic);                                                                                \
    return atomically<T>(memory, kCompareAndSwap, order, HERE, [=] {                                        \
      T found = expected;                                                                                   \
      __atomic_compare_exchange_n(memory, &found, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
      return found;                                                                                         \
    });                                                                                                     \
  }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

// In place of the C library's in modules with checks, which the linker does by --wrap, and newer compilers themselves.
#define COPY(NAME)                                                    \
  void* NAME(void* to, const void* from, size_t bytes) {              \
    profile::accessed(from, bytes, profile::Kind::load, HERE, FRAME); \
    profile::accessed(to, bytes, profile::Kind::store, HERE, FRAME);  \
    touch(from, bytes, kLoad, HERE);                                  \
    touch(to, bytes, kStore, HERE);                                   \
    return memmove(to, from, bytes);                                  \
  }
COPY(__wrap_memcpy)
COPY(__wrap_memmove)
COPY(__tsan_memcpy)
COPY(__tsan_memmove)

#define FILL(NAME)                                                   \
  void* NAME(void* to, int value, size_t bytes) {                    \
    profile::accessed(to, bytes, profile::Kind::store, HERE, FRAME); \
    touch(to, bytes, kStore, HERE);                                  \
    return memset(to, value, bytes);                                 \
  }
FILL(__wrap_memset)
FILL(__tsan_memset)
}
