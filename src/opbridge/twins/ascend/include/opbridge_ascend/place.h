// Where in the user's source an instruction stands.  Every instruction takes it as a last argument that nobody writes.
#ifndef OPBRIDGE_ASCEND_PLACE_H
#define OPBRIDGE_ASCEND_PLACE_H

namespace opbridge_ascend {

// A line of the kernel's author, for reports.
struct Place {
  const char* file;
  int line;

  // As a default argument it is the caller's place.
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace opbridge_ascend
#endif
