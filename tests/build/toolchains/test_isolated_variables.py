"""Two libraries of one process that have inline variables of one name, as by a header that two projects share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.compilers import COMPILERS
from tests.helpers.subprocesses import succeed

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest, build
from opbridge.build.toolchains.isolated_variables import unique_variables

# One variable of the global namespace, one of another and one of a function; a destructor frees each of them.
SHARED = """
#include <map>
#include <opbridge/pool.h>
#include <string>
inline std::map<int, std::string> device_flags = {{0, std::string(64, '0')}};
namespace project { inline std::map<int, std::string> sizes = {{1, std::string(64, '1')}}; }
inline std::map<int, std::string>& known() { static std::map<int, std::string> made = {{2, "2"}}; return made; }
int plain = %d;
extern "C" void* places(int which) {
  void* const all[] = {&device_flags, &project::sizes, &known(), &plain, &ob::pool};
  return all[which];
}
extern "C" int value() { return plain; }
"""
LOAD = """
import ctypes, sys
libraries = [ctypes.CDLL(path, mode=int(sys.argv[1])) for path in sys.argv[2:]]
for library in libraries:
    library.places.restype = ctypes.c_void_p
places = [[library.places(which) for which in range(5)] for library in libraries]
for one, other in zip(*places):
    print("shared" if one == other else "own")
print([library.value() for library in libraries])
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_library_has_its_own(
    compiler: str, cache: Cache, request_for: Callable[..., BuildRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However they are opened, and with nothing destroyed twice at exit; the thread pool is one where g++ makes it."""
    monkeypatch.setenv("CXX", compiler)
    requests = [request_for(SHARED % number, f"{name}.cpp") for number, name in enumerate("ab")]
    paths = [build(request, cache).path for request in requests]
    assert [unique_variables(path) for path in paths] == [[], []]
    for mode in ("0", "256"):  # RTLD_LOCAL and RTLD_GLOBAL
        *found, pool, values = succeed(LOAD, mode, *map(str, paths)).splitlines()
        assert (found, values) == (["own"] * 4, "[0, 1]")
        assert pool == "shared" or compiler == "clang++"


def test_what_has_no_symbols_exports_none(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("INPUT(libc.so.6)\n" * 9)
    assert unique_variables(tmp_path / "text.so") == unique_variables(tmp_path / "missing.so") == []
