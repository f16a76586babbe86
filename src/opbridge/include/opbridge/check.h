// Failing with a message: OB_CHECK(condition, parts...) and ob::fail(parts...).
//
// A failure is an exception up to the exported call, which turns it into the message and the return value of the C
// call.
#ifndef OPBRIDGE_CHECK_H
#define OPBRIDGE_CHECK_H

#include <opbridge/values.h>
#include <stdarg.h>
#include <stdio.h>

#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>

// Marks code that runs only on failure: the compiler optimizes it less and moves it out of the hot path.
#define OB_COLD __attribute__((noinline, cold))

// Marks functions that are the same in all kernels.  opbridge compiles them once (OB_PARTS_HERE) and links them to its
// kernels, which only declare them (OB_PARTS_LINKED); elsewhere the headers define them.
#if defined(OB_PARTS_HERE)
#define OB_HOT_PART __attribute__((noinline))
#else
#define OB_HOT_PART inline
#endif
#define OB_PART OB_COLD OB_HOT_PART

namespace ob {

// The exception of a failing kernel: a text of bounded length, because reporting a failure must not need memory.
class Error : public std::exception {
 public:
  Error() = default;

  const char* what() const noexcept override { return text_; }

  void append(const char* text, size_t size);
  void append_list(const char* format, va_list values);
  __attribute__((format(printf, 2, 3))) void print(const char* format, ...);

 private:
  char text_[1024] = "";
  size_t used_ = 0;
};

// One piece of a message.  Every type a message may hold becomes this one first, so that no use of OB_CHECK or ob::fail
// makes the compiler build a formatter of its own.
class Part {
 public:
  Part(const char* text) : Part(kText, text, static_cast<int64_t>(strlen(text))) {}
  Part(DType dtype) : Part(dtype.name()) {}
  Part(bool value) : Part(value ? "true" : "false") {}
  Part(double value) : kind_(kDouble), double_(value) {}
  Part(float value) : kind_(kFloat), double_(value) {}
  Part(Scalar value) : Part(value.to<double>()) {
    if (value.is_integral()) *this = Part(value.to<int64_t>());
  }

  template <class T, std::enable_if_t<std::is_integral<T>::value || std::is_enum<T>::value, int> = 0>
  Part(T value) : kind_(std::is_unsigned<T>::value ? kUnsigned : kSigned), integer_(static_cast<int64_t>(value)) {}

  // Texts and arrays, of ob and of std alike.
  template <class T, class Item = std::decay_t<decltype(*std::declval<const T&>().data())>>
  Part(const T& items) : Part(kind_of<Item>(), items.data(), static_cast<int64_t>(items.size())) {}

  void print(Error& error) const;

 private:
  // Which member of the union is alive.
  enum Kind { kText, kSigned, kUnsigned, kDouble, kFloat, kInts, kDoubles, kBytes };

  Part(Kind kind, const void* data, int64_t size) : kind_(kind), data_(data), size_(size) {}

  template <class Item>
  static constexpr Kind kind_of() {
    if constexpr (std::is_same<Item, char>::value) {
      return kText;
    } else if constexpr (std::is_same<Item, int64_t>::value) {
      return kInts;
    } else if constexpr (std::is_same<Item, double>::value) {
      return kDoubles;
    } else {
      static_assert(std::is_same<Item, uint8_t>::value, "a message shows arrays of char, int64_t, double and uint8_t");
      return kBytes;
    }
  }

  template <class T>
  void print_items(Error& error) const;

  Kind kind_;
  union {
    const void* data_;
    int64_t integer_;
    double double_;
  };
  int64_t size_ = 0;
};

#if defined(OB_PARTS_LINKED)
namespace [[gnu::visibility("hidden")]] detail {

// For the headers themselves; kernels say ob::fail(parts...).
[[noreturn]] __attribute__((format(printf, 1, 2))) OB_COLD void fail_as(const char* format, ...);
[[noreturn]] OB_COLD void fail_saying(std::initializer_list<Part> parts);

}  // namespace detail
#else

OB_PART void Error::append(const char* text, size_t size) {
  const size_t room = sizeof text_ - 1 - used_;
  if (size > room) size = room;
  memcpy(text_ + used_, text, size);
  used_ += size;
  text_[used_] = '\0';
}

OB_PART void Error::append_list(const char* format, va_list values) {
  vsnprintf(text_ + used_, sizeof text_ - used_, format, values);
  used_ += strlen(text_ + used_);
}

OB_PART void Error::print(const char* format, ...) {
  va_list values;
  va_start(values, format);
  append_list(format, values);
  va_end(values);
}

template <class T>
void Part::print_items(Error& error) const {
  const T* items = static_cast<const T*>(data_);
  error.print("[");
  for (int64_t i = 0; i < size_; ++i) {
    if (i > 0) error.print(", ");
    Part(items[i]).print(error);
  }
  error.print("]");
}

OB_PART void Part::print(Error& error) const {
  switch (kind_) {
    case kText:
      return error.append(static_cast<const char*>(data_), static_cast<size_t>(size_));
    case kSigned:
      return error.print("%lld", static_cast<long long>(integer_));
    case kUnsigned:
      return error.print("%llu", static_cast<unsigned long long>(integer_));
    case kDouble:
      return error.print("%.15g", double_);
    case kFloat:
      return error.print("%.7g", double_);
    case kInts:
      return print_items<int64_t>(error);
    case kDoubles:
      return print_items<double>(error);
    case kBytes:
      return print_items<uint8_t>(error);
  }
}

namespace [[gnu::visibility("hidden")]] detail {

// For the headers themselves; kernels say ob::fail(parts...).
[[noreturn]] __attribute__((format(printf, 1, 2))) OB_PART void fail_as(const char* format, ...) {
  Error error;
  va_list values;
  va_start(values, format);
  error.append_list(format, values);
  va_end(values);
  throw error;
}

[[noreturn]] OB_PART void fail_saying(std::initializer_list<Part> parts) {
  Error error;
  for (const Part& part : parts) part.print(error);
  throw error;
}

}  // namespace detail
#endif

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  detail::fail_saying({Part(parts)...});
}

}  // namespace ob

// Chooses its 32nd argument: how a macro tells one argument from several without an empty `...`, which C++17 forbids.
#define OB_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, \
                _23, _24, _25, _26, _27, _28, _29, _30, _31, chosen, ...)                                            \
  chosen
#define OB_ONE_OR_MANY(one, many, ...)                                                                                 \
  OB_PICK(__VA_ARGS__, many, many, many, many, many, many, many, many, many, many, many, many, many, many, many, many, \
          many, many, many, many, many, many, many, many, many, many, many, many, many, many, one, ~)

#define OB_STRING(text) OB_STRING_EXPANDED(text)
#define OB_STRING_EXPANDED(text) #text
#define OB_WHERE __FILE__ ":" OB_STRING(__LINE__)

#define OB_CHECK(...) OB_ONE_OR_MANY(OB_CHECK_BARE, OB_CHECK_SAYING, __VA_ARGS__)(__VA_ARGS__)
#define OB_CHECK_BARE(condition) \
  static_cast<void>((condition) ? 0 : (::ob::fail("check failed: " #condition " (" OB_WHERE ")"), 0))
#define OB_CHECK_SAYING(condition, ...) \
  static_cast<void>((condition) ? 0 : (::ob::fail(__VA_ARGS__, " (" OB_WHERE ": " #condition ")"), 0))

#endif
