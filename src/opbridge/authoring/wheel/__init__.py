"""Build wheels of kernels for `opbridge wheel`; an installed wheel imports `opbridge.authoring.wheel.installed`."""
