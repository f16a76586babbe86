"""A backend of MultiKernelBench that judges answers in Ascend C without an NPU and without CANN."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
import torch_npu
from backends.backend_registry import Backend, register_backend
from utils.cheating_detection import detect_python_kernel_cheating
from utils.correctness import execute_template

from opbridge.analysis.judge.answer.ascend_models import project_model


@register_backend("ascendc_twin")
class AscendTwinBackend(Backend):
    """Runs answers for the backend `ascendc`: host and kernel of a project, a Python binding, and a model."""

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
            project_model(self.context, folder)
            exec(self.context["model_src"], self.context)
            return True, None
        except Exception as error:
            return False, str(error)

    def detect_cheating(self, generated_code: str) -> Any:
        return detect_python_kernel_cheating(generated_code)

    def correctness_execution(self, ref_src: str) -> Any:
        exec(ref_src, self.context)
        return execute_template(torch_npu.npu.synchronize, self.device, self.context)

    def time_execution(self, eval_target: str = "ModelNew") -> list[float]:
        """Return NaN: the time in a twin does not predict the time on an NPU."""
        return [float("nan")]

    def cleanup(self) -> None:
        self.context = {}
