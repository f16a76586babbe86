// From here to words_back.h a header of PyTorch's means what it says: the words that stand for the twin's are put away.
#pragma push_macro("is_cuda")
#pragma push_macro("kCUDA")
#pragma push_macro("CUDA")
#pragma push_macro("data_ptr")
#undef is_cuda
#undef kCUDA
#undef CUDA
#undef data_ptr
