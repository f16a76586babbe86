"""Generate the C++ and Python sources of a backend from YAML declarations of operators.

    inputs/        one module per dialect; each reads its file into operators
    expressions    the names in the C++ expressions of declarations
    model          the one model of an operator that all outputs read
    outputs/       one module per kind of output; each turns operators into texts
    writing        writes the texts that changed to disk, or reports that they are stale

The generated sources build and run without opbridge.
"""
