"""A network that opbridge convert writes for JAX, called."""

import subprocess
import sys
from pathlib import Path

NETWORK = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 10)
    def forward(self, x):
        return self.head(x).relu()
"""
CONVERT = ["convert", "net:Net", "--input", "2,3", "--to", "jax", "-o", "net_jax"]

Path("net.py").write_text(NETWORK)
subprocess.run([sys.executable, "-m", "opbridge", *CONVERT], check=True)
subprocess.run([sys.executable, "-c", "import net_jax, numpy; print(net_jax.load)"], check=True)
