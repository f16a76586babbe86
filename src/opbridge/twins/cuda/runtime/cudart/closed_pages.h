// State that other code of the process cannot reach by mistake, nor by following pointers.
#ifndef OPBRIDGE_TWIN_RUNTIME_CLOSED_PAGES_H
#define OPBRIDGE_TWIN_RUNTIME_CLOSED_PAGES_H

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <new>

namespace opbridge_twin {

constexpr size_t kPageBytes = 4096;

// One object in pages of its own.  They are closed but while a `Held` of it lives, and the page that knows where they
// are cannot be written any more.  Where Linux has memory that it does not read for anybody (memfd_secret), /proc does
// not show it either.
template <class State>
class ClosedPages {
 public:
  // Whether there is such an object; before, nothing is closed.
  bool is_made() const { return place_.state != nullptr; }

  bool make() {
    if (is_made()) return false;
    void* const pages = own_pages();
    if (pages == MAP_FAILED) return false;
    place_.state = new (pages) State;
    mprotect(pages, kBytes, PROT_NONE);
    seal();
    return true;
  }

  class Held {
   public:
    explicit Held(ClosedPages& pages) : lock_(pages.turn_), state_(pages.place_.state) {
      mprotect(state_, kBytes, PROT_READ | PROT_WRITE);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { mprotect(state_, kBytes, PROT_NONE); }
    State& operator*() const { return *state_; }
    State* operator->() const { return state_; }

   private:
    std::lock_guard<std::mutex> lock_;
    State* state_;
  };

 private:
  static constexpr size_t kBytes = (sizeof(State) + kPageBytes - 1) / kPageBytes * kPageBytes;

  static void* own_pages() {
    constexpr long kMemfdSecret = 447;
    const auto secret = static_cast<int>(syscall(kMemfdSecret, 0));
    if (secret >= 0 && ftruncate(secret, kBytes) == 0) {
      void* const pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, secret, 0);
      close(secret);
      if (pages != MAP_FAILED) return pages;
    } else if (secret >= 0) {
      close(secret);
    }
    return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }

  // For good, where Linux can (mseal).
  void seal() {
    constexpr long kSeal = 462;
    if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPageBytes)) return;
    mprotect(&place_, sizeof(place_), PROT_READ);
    syscall(kSeal, &place_, sizeof(place_), 0UL);
  }

  struct alignas(kPageBytes) Place {
    State* state = nullptr;
  };
  Place place_;
  std::mutex turn_;
};

}  // namespace opbridge_twin
#endif
