// A kernel on MindSpore's other attribute block, which takes names as characters, for tests/native/test_aot_block.py.
#include <cstdint>
#include <string>
#include <vector>

using Chars = std::vector<char>;

struct AotKernelDataDualABI {
  virtual ~AotKernelDataDualABI() = default;
};

struct AotExtraDualABI {
  virtual ~AotExtraDualABI() = default;
  virtual bool HasAttr(std::string name) = 0;
  virtual bool HasAttr(Chars name) = 0;
  virtual bool GetAttrBool(Chars name) = 0;
  virtual int64_t GetAttrInt(Chars name) = 0;
  virtual float GetAttrFloat(Chars name) = 0;
  virtual Chars GetAttrStr(Chars name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(Chars name) = 0;
  virtual std::vector<float> GetAttrFloatVec(Chars name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(Chars name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(Chars name) = 0;

  std::vector<size_t> workspace;
  AotKernelDataDualABI* kernel_data = nullptr;
};

struct Offset : AotKernelDataDualABI {
  float by = 0;
};

static Chars chars(const std::string& text) { return {text.begin(), text.end()}; }

extern "C" int ShiftInit(int*, int64_t**, const char**, AotExtraDualABI* extra) {
  auto* data = new Offset;
  extra->kernel_data = data;
  data->by = extra->GetAttrFloat(chars("by"));
  if (extra->HasAttr(std::string("twice"))) data->by *= extra->GetAttrBool(chars("twice")) ? 2 : 1;
  data->by += static_cast<float>(extra->GetAttrStr(chars("text")).size());
  data->by += static_cast<float>(extra->GetAttrIntVec(chars("numbers")).size());
  return 0;
}

extern "C" int Shift(int, void** params, int*, int64_t** shapes, const char**, void*, void* block) {
  const float by = static_cast<Offset*>(static_cast<AotExtraDualABI*>(block)->kernel_data)->by;
  for (int64_t i = 0; i < shapes[0][0]; ++i)
    static_cast<float*>(params[1])[i] = static_cast<const float*>(params[0])[i] + by;
  return 0;
}
