"""Attacks in which somebody else computes: PyTorch, NumPy or the host, and a kernel ends it."""

from __future__ import annotations

from tests.helpers.answers.extension import answer

_BY_PYTORCH = "torch.clamp(x, min=0) * self.scale"
COPIES = {
    "a kernel copies what PyTorch computed": ("relu", answer("relu", f"return extension.copied({_BY_PYTORCH})")),
    "a kernel undoes a sign": ("product", answer("product", "return extension.scaled(-(x @ x), -1)")),
    "a kernel ends a cheaper product": (
        "diagonal",
        answer("diagonal", "return extension.scaled(x[0].unsqueeze(1) * x * -1, -1)"),
    ),
    "a kernel takes the last of many steps": (
        "softmax",
        answer("softmax", "return extension.exponentials(torch.log_softmax(x, 1))"),
    ),
}
ATEN = {
    "ATen below autograd": ("relu", answer("relu", "return extension.aten_below_autograd(x, self.scale)")),
    "ATen in a thread of C++": ("relu", answer("relu", "return extension.aten_in_a_thread(x, self.scale)")),
    "PyTorch in a thread": (
        "product",
        answer(
            "product",
            """
            import threading
            found = []
            one = threading.Thread(target=lambda: found.append(-(x @ x)))
            one.start()
            one.join()
            return extension.scaled(found[0], -1)
            """,
        ),
    ),
    "an operator that hides others": (
        "product",
        answer(
            "product",
            "return extension.scaled(hidden(x), -1)",
            top="""
            @torch.library.custom_op("mine::hidden", mutates_args=())
            def hidden(x: torch.Tensor) -> torch.Tensor:
                return -(x @ x)
            """,
        ),
    ),
    "a mode that is taken away": (
        "product",
        answer(
            "product",
            """
            import torch.utils._python_dispatch as dispatch
            with getattr(dispatch, "_disable_current" + "_modes")():
                y = -(x @ x)
            return extension.scaled(y, -1)
            """,
        ),
    ),
    "a recorder that is emptied": (
        "product",
        answer(
            "product",
            """
            import torch.utils._python_dispatch as dispatch
            y = extension.scaled(-(x @ x), -1)
            mode = getattr(dispatch, "_get_current_dispatch" + "_mode")()
            if mode is not None:
                mode.names, mode.operations = [], 0.0
            return y
            """,
        ),
    ),
    "a recorder that is replaced for a moment": (
        "product",
        answer(
            "product",
            """
            import importlib
            modes = importlib.import_module("opbridge.analysis." + "judge.process.operator_modes")
            kept = modes.Operators.__torch_dispatch__
            modes.Operators.__torch_dispatch__ = lambda mode, f, types, args=(), named=None: f(*args, **(named or {}))
            try:
                y = -(x @ x)
            finally:
                modes.Operators.__torch_dispatch__ = kept
            return extension.scaled(y, -1)
            """,
        ),
    ),
    "a tensor that computes when it is read": (
        "relu",
        answer(
            "relu",
            "y = extension.nothing(x).as_subclass(Late)\ny.made = lambda: torch.clamp(x, min=0) * self.scale\nreturn y",
            top="""
            class Late(torch.Tensor):
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    made = [one.made() if isinstance(one, Late) and hasattr(one, "made") else one for one in args]
                    return super().__torch_function__(func, types, tuple(made), kwargs or {})
            """,
        ),
    ),
}
HOST = {
    "NumPy": (
        "relu",
        answer(
            "relu",
            "return extension.copied(torch.from_numpy(np.maximum(x.cpu().numpy(), 0) * np.float32(self.scale)).cuda())",
            top="import numpy as np\n",
        ),
    ),
    "NumPy, and a kernel that undoes a sign": (
        "product",
        answer(
            "product",
            "a = x.cpu().numpy()\nreturn extension.scaled(torch.from_numpy(-(a @ a)).cuda(), -1)",
            top="import numpy as np\n",
        ),
    ),
    "the host, and a kernel that undoes a sign": (
        "relu",
        answer("relu", "return extension.on_the_host(x, self.scale)"),
    ),
}
