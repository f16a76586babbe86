// libtorch_npu.so for those who link it: it brings PyTorch's libraries along, as the real one does.  All else that
// extensions take from torch_npu is in the headers beside this.
extern "C" {
extern const char opbridge_stands_for_torch_npu[];
const char opbridge_stands_for_torch_npu[] = "opbridge";
}
