"""A backend for MultiKernelBench that judges answers in Ascend C where there is no NPU and no CANN."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch_npu
from backends.backend_registry import Backend, register_backend
from utils.cheating_detection import detect_python_kernel_cheating
from utils.correctness import execute_template

import opbridge as ob

HEADERS = Path(__file__).resolve().parent


@register_backend("ascendc_twin")
class AscendTwinBackend(Backend):
    """Takes the answers of the backend `ascendc`: a project's host and kernel, a binding for Python, and a model."""

    def __init__(self) -> None:
        self.context: dict[str, Any] = {}
        self.device = self.get_device()

    def get_device(self) -> torch.device:
        return torch.device("npu:0")

    def get_hardware_name(self) -> str:
        return "opbridge's Ascend C twin"

    def compile(self, generated_code: str, op: str) -> tuple[bool, str | None]:
        try:
            exec(generated_code, self.context)
            folder = Path(tempfile.mkdtemp(prefix=f"{op}_"))
            self._write(folder, f"{op}_custom")
            os.environ["OPBRIDGE_OPAPI"] = str(_built(folder) / "op_api" / "lib" / "libcust_opapi.so")
            sys.modules["custom_ops_lib"] = ob.extension(
                "custom_ops_lib",
                [folder / "binding.cpp"],
                extra_include_paths=[HEADERS, Path(os.environ["ASCEND_HOME_PATH"]) / "include"],
            )
            exec(self.context["model_src"], self.context)
            return True, None
        except Exception as error:
            return False, str(error)

    def _write(self, folder: Path, name: str) -> None:
        files = {
            f"op_host/{name}_tiling.h": "host_tiling_src",
            f"op_host/{name}.cpp": "host_operator_src",
            f"op_kernel/{name}.cpp": "kernel_src",
            "binding.cpp": "python_bind_src",
        }
        for path, source in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(self.context[source], encoding="utf-8")

    def detect_cheating(self, generated_code: str) -> Any:
        return detect_python_kernel_cheating(generated_code)

    def correctness_execution(self, ref_src: str) -> Any:
        exec(ref_src, self.context)
        return execute_template(torch_npu.npu.synchronize, self.device, self.context)

    def time_execution(self, eval_target: str = "ModelNew") -> list[float]:
        """How long a twin takes says nothing of an NPU."""
        return [float("nan")]

    def cleanup(self) -> None:
        self.context = {}


def _built(project: Path) -> Path:
    output = project / "built"
    command = [sys.executable, "-m", "opbridge", "twin", "op", str(project), "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return output
