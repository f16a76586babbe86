"""The facts about a machine that a bug report needs, and the missing parts with the command that installs each."""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from opbridge._version import __version__
from opbridge.authoring.doctor.finding import Finding
from opbridge.authoring.doctor.parts import parts
from opbridge.authoring.doctor.processor import level_here, level_name, model_name
from opbridge.base.errors import OpbridgeError
from opbridge.build.toolchains import toolchain_for
from opbridge.frameworks import FRAMEWORKS, Framework

_SECONDS = 120
_VARIABLES = (
    "OPBRIDGE_",
    "XDG_CACHE_HOME",
    "CXX",
    "LDFLAGS",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
)
_CANN = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_CANN_PLACES = ("/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann")

_PROBES = {
    "torch": 'f\'{"new" if m._C._GLIBCXX_USE_CXX11_ABI else "old"} std::string, CUDA {m.version.cuda or None}, \''
    "f'{m.cuda.device_count()} GPUs, {m.get_num_threads()} threads'"
    " + ' (opbridge judge and twin run take the build for the CPU)'"
    " * bool(m.version.cuda and not m.cuda.device_count())",
    "jax": "f'jaxlib {__import__(\"jaxlib\").__version__}'",
}
"""Further facts about an imported framework, as an expression over its module `m`."""


def examine_environment() -> list[Finding]:
    """Return all findings, with the problems first."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        frameworks = threads.map(_framework, FRAMEWORKS.values())
        findings = [*_machine(), *_tools(), *_opbridge(), *parts(), *frameworks, *_settings()]
    return sorted(findings, key=lambda finding: not finding.is_wrong)


def _machine() -> Iterator[Finding]:
    yield Finding("opbridge", __version__)
    built = f"{sysconfig.get_config_var('SOABI')}, {sys.executable}"
    yield Finding("Python", f"{platform.python_implementation()} {platform.python_version()}, {built}")
    yield Finding("system", f"{_distribution()}, {platform.platform()}")
    yield Finding("processor", _processor())


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _processor() -> str:
    level = level_here()
    known = [model_name(), level_name(level) if level else platform.machine(), f"{os.cpu_count()} processors"]
    return ", ".join(filter(None, known))


def _tools() -> Iterator[Finding]:
    yield _compiler("C++ compiler", "c++", required=True)
    header = Path(sysconfig.get_path("include"), "Python.h")
    cure = "for adapters built from source: sudo apt install python3-dev"
    yield Finding("Python.h", str(header) if header.is_file() else None, cure, required=False)
    yield _compiler("CUDA compiler", "cuda", required=False)
    yield Finding(
        "NVIDIA driver",
        _said_by("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
        required=False,
    )
    home = next((value for name in _CANN if (value := os.environ.get(name))), None)
    place = home or next((place for place in _CANN_PLACES if Path(place).is_dir()), None)
    yield Finding("CANN", place, "for Ascend NPUs: source /usr/local/Ascend/ascend-toolkit/set_env.sh", required=False)


def _compiler(what: str, language: str, required: bool) -> Finding:
    try:
        command = toolchain_for(language).find()
    except OpbridgeError as error:
        return Finding(what, None, str(error), required)
    said = _said_by(*command, "--version")
    if said is None:
        return Finding(what, None, f"{' '.join(command)} does not run; name another: export CXX=g++", required)
    lines = said.splitlines()
    version_line = next((line for line in lines if "release" in line), lines[0])
    return Finding(what, f"{' '.join(command)}, {version_line}")


def _said_by(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _opbridge() -> Iterator[Finding]:
    yield _found(
        "native core",
        lambda: str(importlib.import_module("opbridge._core").__file__),
        "install opbridge again, as it was installed: pip install --force-reinstall and a wheel of it, or . in a clone",
    )
    yield _found("cache", _cache)


def _found(what: str, find: Callable[[], str], cure: str = "") -> Finding:
    try:
        return Finding(what, find())
    except (OpbridgeError, ImportError) as error:
        return Finding(what, None, "\n".join(filter(None, (str(error), cure))))


def _cache() -> str:
    from opbridge.build.cache import Cache

    cache = Cache()
    free = os.statvfs(cache.root)
    mode = f"mode {cache.root.stat().st_mode & 0o777:o}"
    return f"{cache.root}, {_megabytes(cache.size())}, {mode}, {_megabytes(free.f_bavail * free.f_frsize)} free"


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB"


def _framework(framework: Framework) -> Finding:
    """Import a framework in a separate process: a failure then has a message and harms nothing else."""
    package = framework.packages[0]
    installed = _version(package)
    required = framework.name == "numpy"
    if installed is None:
        return Finding(framework.name, None, framework.install, required)
    code = (
        "import json, time\nstart = time.perf_counter()\n"
        f"import {package} as m\nseconds = time.perf_counter() - start\n"
        f"print(json.dumps([m.__version__, seconds, {_PROBES.get(framework.name, repr(''))}]))"
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=folder,
                env={**os.environ, "GLOG_v": "4"},
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            why = f"import {package} has not ended after {_SECONDS} s"
            return Finding(framework.name, None, f"{installed} is installed, but {why}", required=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"Python ended with code {done.returncode}"])[-1]
        cure = f"{installed} is installed, but import {package} fails: {reason}\n{framework.install} --force-reinstall"
        return Finding(framework.name, None, cure, required=True)
    imported, seconds, more = json.loads(done.stdout.splitlines()[-1])
    return Finding(framework.name, ", ".join(filter(None, (imported, more, f"imported in {seconds:.1f} s"))))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _settings() -> Iterator[Finding]:
    for name, value in sorted(os.environ.items()):
        if name.startswith(_VARIABLES):
            yield Finding(name, value)
