"""The fixtures of a twin's toolchain are those of all toolchains."""

from tests.build.toolchains.conftest import (  # noqa: F401
    cache,
    plain_environment,
    project,
    request_for,
    wrapper,
)
