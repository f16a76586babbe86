"""Stand-ins for hardware that is not here: kernels run on the CPU, fast or with checks."""
