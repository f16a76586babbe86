"""The releases of PyTorch that opbridge is compiled against, the newest patch of each: the one list of them."""

RELEASES = ("2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")
