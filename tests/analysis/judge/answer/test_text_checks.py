"""What the text of an answer alone decides."""

from __future__ import annotations

import attacks
import pytest

from opbridge.analysis.judge.answer.formats import answer_format
from opbridge.analysis.judge.answer.text_checks import seen_in
from opbridge.analysis.judge.judgement import Verdict


def verdict_of(source: str, name: str = "answer.py") -> tuple[str, str, str]:
    found = seen_in(answer_format(f".{name.rpartition('.')[2]}", source), name, source)
    return (found.verdict.value, found.reasons[0].check, found.reasons[0].place) if found else ("", "", "")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import triton\nimport triton.language as tl", "answer.py"),
        ("from triton import jit", "answer.py"),
        ("import tilelang", "answer.py"),
        ("import cutlass.cute as cute", "answer.py"),
        ("from numba import cuda", "answer.py"),
        ('source = "#include <hip/hip_runtime.h>"', "answer.py"),
        ("#include <hip/hip_runtime.h>", "answer.cu"),
        ("__global__ void k() {}", "answer.hip"),
    ],
)
def test_other_languages_are_undecided_and_never_broken(source: str, name: str) -> None:
    assert verdict_of(source, name)[:2] == (Verdict.UNDECIDED.value, "language")


_GUARD = "c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::Python);"


@pytest.mark.parametrize(
    ("text", "check", "line"),
    [
        ("import sys\nfast = 'opbridge' in sys.modules", "judge", 2),
        ("import sys\nfor name in sys.modules: pass", "judge", 2),
        ("import sys\nsys.modules.get('torch')", "judge", 2),
        ("import ctypes\nctypes.pythonapi.PyGILState_Ensure()", "memory of others", 2),
        ("import ctypes\n(ctypes.c_int * 3).from_address(id(sys))", "memory of others", 2),
        ("from torch.utils._python_dispatch import _disable_current_modes as quiet", "dispatch of operators", 1),
        ("import sys\ngetattr(sys, '_getframe')(1)", "call stack", 2),
        ("import torch\nwith torch._C._DisableTorchDispatch(): pass", "dispatch of operators", 2),
        (f"source = '''\n{_GUARD}\n'''", "judge", 2),
        ("source = 'extern \"C\" void ob_twin_mute(int);'", "judge", 1),
        ("source = 'auto y = at::cpu::relu(x);'", "judge", 1),
        ("from os import environ\nall = dict(environ)", "environment", 2),
        ("import os\nfor name in os.environ: pass", "environment", 2),
        ("import os\nos.environ['JUDGED']", "environment", 2),
        ("import os\nmany = os.environ.copy()", "environment", 2),
        ("from os import environ as e", "environment", 1),
        ("import os\nos.path.exists('/proc/driver/nvidia/version')", "file", 2),
        ("import time\nclass ModelNew:\n  def forward(self): return time.process_time()", "machine", 3),
        ("import shutil\nclass ModelNew:\n  def forward(self): return shutil.which('nvcc')", "machine", 3),
        ("class ModelNew:\n  def forward(self): return extension.__file__", "machine", 2),
        ("import sys\nsys.modules['torch']", "judge", 2),
        ("import sys\nall = vars(sys)['modules']", "judge", 2),
        ("load_inline.__code__", "functions of others", 1),
        ("source = 'at::clearGlobalCallbacks();'", "judge", 1),
        ("source = '__attribute__((no_sanitize_thread)) __global__ void k() {}'", "judge", 1),
        ("source = 'if (getenv(\"JUDGED\")) return x;'", "judge", 1),
        ('source = \'FILE* file = fopen("/proc/self/maps", "r");\'', "judge", 1),
        ("source = '#ifdef __x86_64__'", "judge", 1),
    ],
)
def test_who_switches_a_recorder_off_is_told(text: str, check: str, line: int) -> None:
    assert verdict_of(text) == ("cheating", check, f"answer.py:{line}")


@pytest.mark.parametrize(
    "text",
    [
        attacks.RIGHT,
        attacks.DIFFERENTIABLE,
        "import ctypes\nctypes.CDLL('libcudart.so')",
        "import sys\nsys.modules[__name__]\nsys.path.append('.')",
        "source = '''// without ExcludeDispatchKeyGuard\nat::AutoDispatchBelowAutograd guard;'''",
        "import time\nstarted = time.perf_counter()",
        "import os, shutil\nnvcc, folder = shutil.which('nvcc'), os.path.dirname(__file__) + os.getcwd()",
        "source = 'const char* home = getenv(\"CUDA_HOME\");'",
        "import os\nos.environ['TORCH_CUDA_ARCH_LIST'] = '8.0'\nos.environ.setdefault('CUDA_HOME', '/usr')",
        "import os\nos.environ.update(MAX_JOBS='4')\nhome = os.getenv('CUDA_HOME') or 'PATH' in os.environ",
        "import torch\nprint(torch.cuda.get_device_name(), load_inline.__module__)",
        "import time\nclass ModelNew:\n  def forward(self): return time.perf_counter()",
        "source = 'auto start = std::chrono::steady_clock::now();'",
        "import os\nloud = os.environ.get('KERNEL_DEBUG') or os.getenv('VERBOSE')",
    ],
)
def test_what_computes_has_to_run(text: str) -> None:
    assert verdict_of(text) == ("", "", "")
