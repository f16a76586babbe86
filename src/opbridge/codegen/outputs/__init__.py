"""One module a kind of output; each turns a backend into texts by file name."""
