"""The startup module of every Python below `opbridge run-build`, imported before the program."""

import sys

try:
    from opbridge.authoring.compat.replaced_cpp_extension import import_next_sitecustomize, take_over
except ImportError as error:
    print(f"opbridge: {sys.executable} has no opbridge ({error}), and builds by itself", file=sys.stderr)
else:
    import_next_sitecustomize()
    take_over()
