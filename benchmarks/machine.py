"""What the numbers were measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path


def describe() -> dict[str, str]:
    packages = ("torch", "numpy", "apache-tvm-ffi")
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "kernels for": os.environ.get("OPBRIDGE_MARCH", "this processor"),
        "system": f"{platform.system()} {platform.release()}",
        "compiler": subprocess.run(["g++", "--version"], capture_output=True, text=True).stdout.partition("\n")[0],
        "Python": platform.python_version(),
        **{package: _version(package) for package in packages},
        "load at the start": f"{os.getloadavg()[0]:.1f}",
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
