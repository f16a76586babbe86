// The tiling structs of a library, as text for its kernels, and which operator has which.
#ifndef OPBRIDGE_ASCEND_HOST_STRUCTS_H
#define OPBRIDGE_ASCEND_HOST_STRUCTS_H

#include <string>
#include <utility>
#include <vector>

namespace opbridge_ascend {

// Filled while the library is loaded: the fields of a struct follow its begin, in order.
struct Structs {
  struct Field {
    std::string type, name;
    int length;  // 0 for no array
  };
  struct Struct {
    std::string name;
    std::vector<Field> fields;
  };
  std::vector<Struct> all;
  std::vector<std::pair<std::string, std::string>> of_operators;

  static Structs& get() {
    static Structs* const structs = new Structs;
    return *structs;
  }
  bool begin(const char* name) {
    all.push_back({name, {}});
    return true;
  }
  bool add(const char* type, const char* name, int length) {
    all.back().fields.push_back({type, name, length});
    return true;
  }
  bool use(const char* type, const char* name) {
    of_operators.emplace_back(type, name);
    return true;
  }
};

}  // namespace opbridge_ascend
#endif
