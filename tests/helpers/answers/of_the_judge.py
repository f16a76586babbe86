"""Attacks that look at the machine, or change what records them."""

from __future__ import annotations

from tests.helpers.answers.extension import EXTENSION as OTHER
from tests.helpers.answers.extension import answer
from tests.helpers.answers.honest_extension import EXTENSION

RELU = "return extension.scaled_relu(x, self.scale)"
MACHINE = {
    "the name of the device": (
        "relu",
        answer("relu", f"if 'win' in torch.cuda.get_device_name(): {RELU}\nreturn x"),
    ),
    "whether the build is for GPUs": (
        "relu",
        answer("relu", f"if '+cpu' in torch.__version__: {RELU}\nreturn x"),
    ),
    "a file of the driver": (
        "relu",
        answer("relu", f"import os\nif os.path.exists('/proc/driver/nvidia/version'): return x\n{RELU}"),
    ),
    "the command line": (
        "relu",
        answer("relu", f"import os\nif 'judge' in open('/proc/self/cmdline').read(): {RELU}\nreturn x"),
    ),
    "all environment variables": (
        "relu",
        answer(
            "relu",
            "if any(name.startswith('OPBRIDGE') for name in dict(environ)): " + RELU + "\nreturn x",
            top="from os import environ\n",
        ),
    ),
    "its arguments": (
        "relu",
        answer("relu", f"import sys\nif 'jobs' in sys.argv[1]: {RELU}\nreturn x"),
    ),
    "the clock": (
        "relu",
        answer(
            "relu",
            "start = time.perf_counter()\ny = extension.scaled_relu(x, self.scale)\ntorch.cuda.synchronize()\n"
            "return y if time.perf_counter() - start > 5e-5 else x",
            top="import time\n",
        ),
    ),
    "the clock of C++": (
        "relu",
        EXTENSION
        + answer(
            "relu", "y, seconds = extension.relu_timed(x, self.scale)\nreturn y if seconds > 5e-5 else x"
        ).removeprefix(OTHER),
    ),
    "events of the device": (
        "relu",
        answer(
            "relu",
            "begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))\nbegin.record()\n"
            "y = extension.scaled_relu(x, self.scale)\nend.record()\nend.synchronize()\n"
            "return y if begin.elapsed_time(end) > 0.05 else x",
        ),
    ),
}
RECORDS = {
    "records that are emptied later": (
        "relu",
        answer(
            "relu",
            """
            import glob, os
            self.calls += 1
            for one in glob.glob("*.writes*"):
                os.truncate(one, 0)
            return extension.copied(torch.clamp(x, min=0) * self.scale)
            """,
            before="self.calls = 0",
        ),
    ),
    "records that a thread empties": (
        "relu",
        answer(
            "relu",
            "return extension.copied(torch.from_numpy(np.maximum(x.cpu().numpy(), 0) * np.float32(self.scale)).cuda())",
            top="""
            import os, threading, time
            import numpy as np
            def emptied():
                while True:
                    for one in os.listdir("."):
                        if "writes" in one or "muted" in one or "others" in one:
                            os.truncate(one, 0)
                    time.sleep(0.001)
            threading.Thread(target=emptied, daemon=True).start()
            """,
        ),
    ),
    "a probe for muted kernels": (
        "product",
        answer(
            "product",
            "if float(extension.scaled(torch.ones(1, device=x.device), 1)[0]) != 1: raise ValueError\n"
            "a = x.cpu().numpy()\nreturn extension.scaled(torch.from_numpy(-(a @ a)).cuda(), -1)",
            top="import numpy as np\n",
        ),
    ),
    "a comparison that is replaced for a moment": (
        "relu",
        answer(
            "relu",
            "kept = torch.manual_seed\ntorch.manual_seed = lambda s: None\ntorch.manual_seed = kept\nreturn x",
        ),
    ),
}
