"""The stand-in for the torch_npu module of this name."""
