"""Attacks that rely on which call it is, what was computed before, and where they run."""

from __future__ import annotations

from tests.helpers.answers.native_extension import answer

_RELU = "extension.scaled_relu(x, self.scale)"
_KEPT = """
key = {}
if key in {} and {}.shape == x.shape:
    return extension.scaled({}, 1)
{} = y = {}
return y
"""


def _kept(key: str, where: str, top: str = "", before: str = "") -> tuple[str, str]:
    return answer("relu", _KEPT.format(key, where, *[f"{where}[key]"] * 3, _RELU), before, top)


CACHES = {
    "by content, in as many kernels": _kept("x.cpu().numpy().tobytes()", "kept", "kept = {}\n"),
    "by content, in the model": _kept("x.cpu().numpy().tobytes()", "self.kept", before="self.kept = {}"),
    "by a sum": _kept("float(x.sum()), float(x[0, 0])", "self.kept", before="self.kept = {}"),
    "by a few numbers": _kept("tuple(x[0, :4].tolist())", "self.kept", before="self.kept = {}"),
    "by shape": _kept("tuple(x.shape)", "self.kept", before="self.kept = {}"),
    "by pointer": _kept("x.data_ptr()", "self.kept", before="self.kept = {}"),
    "by pointer and version, in as many kernels": _kept(
        "(x.data_ptr(), x._version)", "self.kept", before="self.kept = {}"
    ),
    "on the tensor": answer(
        "relu",
        "if getattr(x, 'kept', (None,))[0] == x._version: return extension.scaled(x.kept[1], 1)\n"
        f"x.kept = x._version, {_RELU}\nreturn x.kept[1]",
    ),
    "in C++": answer("relu", "return extension.remembered(x, self.scale)"),
    "in a file of C++": answer("relu", "return extension.by_a_file(x, self.scale)"),
    "in a file": answer(
        "relu",
        "name = f'/tmp/{hash(x.cpu().numpy().tobytes())}'\n"
        "if os.path.exists(name): return extension.scaled(torch.load(name).cuda(), 1)\n"
        f"y = {_RELU}\ntorch.save(y.cpu(), name)\nreturn y",
        top="import os\n",
    ),
    "the input of the first call": answer(
        "relu",
        "if self.x is None: self.x = x\nreturn extension.scaled_relu(self.x, self.scale)",
        before="self.x = None",
    ),
}
CALLS = {
    "only the tenth call is wrong": answer(
        "relu", f"self.calls += 1\nif self.calls == 10: return x\nreturn {_RELU}", "self.calls = 0"
    ),
    "one call in eight is wrong": answer(
        "relu", f"if random.random() < 0.125: return x\nreturn {_RELU}", top="import random\nrandom.seed()\n"
    ),
    "wrong with gradients": answer("relu", f"if torch.is_grad_enabled(): return x\nreturn {_RELU}"),
    "another function for the same shapes later": answer(
        "relu", f"self.calls += 1\nif self.calls == 3: return x\nreturn {_RELU}", "self.calls = 0"
    ),
}
_IF = "if {}: return {}\nreturn x"
PROBES = {
    name: answer("relu", _IF.format(probe, _RELU), top=top)
    for name, probe, top in (
        ("properties of the device", "'win' in torch.cuda.get_device_properties(0).name", ""),
        ("the build of PyTorch", "'CUDA' not in torch.__config__.show()", ""),
        ("backends", "not torch.backends.cuda.is_built()", ""),
        ("the compiler", "shutil.which('nvcc') is None", "import shutil\n"),
        ("a package", "importlib.util.find_spec('opbridge') is not None", "import importlib.util\n"),
        ("who makes extensions", "load_inline.__module__ != 'torch.utils.cpp_extension'", ""),
        ("the file of the extension", "'opbridge' in str(getattr(extension, '__file__', ''))", ""),
        ("a module by its name", "isinstance(sys.modules['opbridge'], object)", "import sys\n"),
        ("all modules", "any('opbridge' in name for name in list(vars(sys)['modules']))", "import sys\n"),
        ("the number of threads", "threading.active_count() < 64", "import threading\n"),
        ("the installed package", "'cpu' in importlib.metadata.version('torch')", "import importlib.metadata\n"),
        ("the folder", "'judge' in os.getcwd() or len(os.listdir('.')) > 0", "import os\n"),
    )
}
IN_CPP = {
    name: answer(
        "relu",
        f"if probe.differs(): return {_RELU}\nreturn x",
        top=f"# In an extension of its own:\nprobe = {text!r}\n",
    )
    for name, text in (
        ("variables in C++", 'bool differs() { return getenv("OPBRIDGE_CUDA_TWIN") != nullptr; }'),
        ("the processor's clock in C++", "bool differs() { return __rdtsc() - begin > limit; }"),
        ("files in C++", 'bool differs() { return fopen("/proc/driver/nvidia/version", "r") == nullptr; }'),
        ("the compiler of kernels", "__global__ void k(bool* y) {\n#ifdef __x86_64__\n  *y = true;\n#endif\n}"),
        (
            "a record that is stopped",
            'bool differs() { ((Stop)dlsym(RTLD_DEFAULT, ("ob_" + end).c_str()))(nullptr, 0); }',
        ),
        ("where a function comes from", "bool differs() { return dladdr((void*)cudaMalloc, &found) != 0; }"),
    )
}
