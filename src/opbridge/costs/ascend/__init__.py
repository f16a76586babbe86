"""What Ascend C kernels cost: when each pipe works and what it waits for, by the instructions that the twin ran."""
