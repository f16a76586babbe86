"""Output generators, one module per kind; each turns a backend into texts by file name."""
