#include "context.h"

#include <stdint.h>
#include <sys/mman.h>

#include <atomic>

namespace opbridge_twin {

namespace {

constexpr size_t kGuardBytes = size_t{64} << 10;  // a page, on every system
constexpr size_t kFibersAtATime = 32;
constexpr size_t kSlotBytes = Fiber::kStackBytes + kGuardBytes;

// Linux allows about 65,000 areas of memory for a process, and a stack with a guard takes two.  Further stacks have no
// guard: a full grid whose blocks wait for each other has 16,384 stacks, on each host thread that launches one.
constexpr size_t kMostGuards = 16'384;
std::atomic<size_t> guards;

}  // namespace

#if defined(__x86_64__)

asm(R"(
  .text
  .p2align 4
  .globl ob_twin_switch
  .hidden ob_twin_switch
  .type ob_twin_switch, @function
ob_twin_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size ob_twin_switch, .-ob_twin_switch
)");

void Fiber::reset(void (*main)()) {
  // Six registers and the address to return to; above it the zero that ends a debugger's walk.  A function begins with
  // the stack 8 bytes off a multiple of 16.
  void** frame = reinterpret_cast<void**>(top_) - 2;
  frame[0] = reinterpret_cast<void*>(main);
  frame[1] = nullptr;
  for (int i = 1; i <= 6; ++i) frame[-i] = nullptr;
  stack_pointer = frame - 6;
}

#elif defined(__aarch64__)

asm(R"(
  .text
  .p2align 4
  .globl ob_twin_switch
  .hidden ob_twin_switch
  .type ob_twin_switch, %function
ob_twin_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size ob_twin_switch, .-ob_twin_switch
)");

void Fiber::reset(void (*main)()) {
  constexpr int kWords = 20, kLinkRegister = 11;
  void** frame = reinterpret_cast<void**>(top_) - kWords;
  for (int i = 0; i < kWords; ++i) frame[i] = nullptr;
  frame[kLinkRegister] = reinterpret_cast<void*>(main);
  stack_pointer = frame;
}

#else
#error "the CUDA twin switches threads on x86-64 and aarch64; this processor needs its own ob_twin_switch"
#endif

FiberPool::~FiberPool() {
  for (char* mapping : mappings_) munmap(mapping, kSlotBytes * kFibersAtATime);
  guards -= guards_;
}

Fiber* FiberPool::take() {
  if (idle_.empty() && !grow()) return nullptr;
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  fiber->idle = false;
  return fiber;
}

void FiberPool::reclaim() {
  for (const auto& fiber : all_) {
    fiber->reset(main_);
    if (!fiber->idle) give_back(fiber.get());
  }
}

bool FiberPool::grow() {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* memory = mmap(nullptr, kSlotBytes * kFibersAtATime, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (memory == MAP_FAILED) return false;
  char* mapping = static_cast<char*>(memory);
  // Below a stack a page that ends the process, where an overflow would change the neighbour's variables.
  for (size_t i = 0; i < kFibersAtATime && guards < kMostGuards; ++i, ++guards, ++guards_) {
    if (mprotect(mapping + i * kSlotBytes, kGuardBytes, PROT_NONE) != 0) break;
  }
  mappings_.push_back(mapping);
  for (size_t i = kFibersAtATime; i-- > 0;) {
    all_.push_back(std::make_unique<Fiber>(mapping + i * kSlotBytes + kGuardBytes, static_cast<unsigned>(i)));
    all_.back()->reset(main_);
    give_back(all_.back().get());
  }
  return true;
}

}  // namespace opbridge_twin
