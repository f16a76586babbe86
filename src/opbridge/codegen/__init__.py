"""From declarations of operators in YAML to the C++ and Python sources of a backend.

    inputs/        one module a dialect; each reads its file into operators
    expressions    the names in C++ expressions that declarations hold
    model          the one model of an operator that all outputs read
    outputs/       one module a kind of output; each turns operators into texts
    writing        puts texts on the disk where they changed, or says that they are stale

Nothing of opbridge is needed to build or run what comes out.
"""
