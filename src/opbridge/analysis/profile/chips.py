"""The published capabilities of chips, from which costs are predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opbridge.base.errors import InputError, did_you_mean

WARP = 32
"""Threads that run together."""


@dataclass(frozen=True)
class Source:
    """The publication of a chip's figures."""

    title: str
    url: str


@dataclass(frozen=True)
class Multiprocessor:
    """The limits of one streaming multiprocessor, by compute capability."""

    capability: str
    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    shared_bytes_a_block: int
    float_operations_a_cycle: int = 256
    """Operations of 128 lanes, a product and a sum each."""
    integers_a_cycle: int = 64
    """Lanes for integers."""
    schedulers: int = 4
    sectors_a_cycle: int = 4
    """Sectors from the first cache: 128 bytes."""
    reserved_shared_bytes: int = 1024
    """Bytes of each block that the system reserves."""
    register_unit: int = 256
    """A warp gets registers in multiples of this number."""
    shared_unit: int = 128

    @property
    def warps(self) -> int:
        """The warps that it can hold."""
        return self.threads // WARP


@dataclass(frozen=True)
class Chip:
    """A chip, with the rates of the whole chip in operations and bytes a second."""

    name: str
    title: str
    cores: int
    """Multiprocessors, or AI cores."""
    hertz: float
    memory_bytes: int
    memory_rate: float
    cache_bytes: int
    """The size of the last cache; 0 if it is not published."""
    float_rate: float
    """Single precision, outside of tensor cores and the matrix unit."""
    matrix_rate: float
    """Half precision, in tensor cores or the matrix unit, with dense matrices."""
    sources: tuple[Source, ...]
    multiprocessor: Multiprocessor | None = None
    """None for chips that are not made by NVIDIA."""
    vector_cores: int = 0
    derived: tuple[str, ...] = ()
    """Fields that are not published and are derived from others."""
    soc: str = ""
    """The name that the Ascend twin uses."""

    @property
    def twin(self) -> str:
        """The device that runs its kernels on the CPU."""
        return "cuda-twin" if self.multiprocessor else "ascend-twin"


_CAPABILITIES = Source(
    "CUDA C++ Programming Guide, technical specifications per compute capability",
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities",
)
_AMPERE = Source(
    "NVIDIA A100 Tensor Core GPU Architecture",
    "https://images.nvidia.com/aem-dam/en-zz/Solutions/data-center/nvidia-ampere-architecture-whitepaper.pdf",
)
_A100 = Source("NVIDIA A100", "https://www.nvidia.com/en-us/data-center/a100/")
_HOPPER = Source(
    "NVIDIA Hopper Architecture In-Depth", "https://developer.nvidia.com/blog/nvidia-hopper-architecture-in-depth/"
)
_H100 = Source("NVIDIA H100", "https://www.nvidia.com/en-us/data-center/h100/")
_H200 = Source("NVIDIA H200", "https://www.nvidia.com/en-us/data-center/h200/")
_ADA = Source(
    "NVIDIA Ada GPU Architecture",
    "https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf",
)
_CLOUD_MATRIX = Source("Serving Large Language Models on Huawei CloudMatrix384", "https://arxiv.org/abs/2506.12708")
_300I_DUO = Source("Atlas 300I Duo", "https://e.huawei.com/en/products/computing/ascend/atlas-300i-duo")

_KIB, _MIB, _GB = 1 << 10, 1 << 20, 10**9
_SM80 = Multiprocessor("8.0", 2048, 32, 65536, 164 * _KIB, 163 * _KIB, float_operations_a_cycle=128)
_SM89 = Multiprocessor("8.9", 1536, 24, 65536, 100 * _KIB, 99 * _KIB)
_SM90 = Multiprocessor("9.0", 2048, 32, 65536, 228 * _KIB, 227 * _KIB)

_CUBE = 2 * 16 * 16 * 16
"""Half-precision operations of a matrix unit in a cycle."""
_VECTOR = 64
"""Floats that a vector unit processes in a cycle: 256 bytes."""


def _ascend(
    name: str, title: str, cores: int, vector_cores: int, gigabytes: int, memory: float, matrix: float, source: Source
) -> Chip:
    """Return an Ascend chip; its clock is not published and follows from the rate of its matrix units."""
    hertz = matrix / (cores * _CUBE)
    return Chip(
        name=name,
        title=title,
        cores=cores,
        hertz=hertz,
        memory_bytes=gigabytes * _GB,
        memory_rate=memory,
        cache_bytes=0,
        float_rate=vector_cores * _VECTOR * hertz,
        matrix_rate=matrix,
        sources=(source,),
        vector_cores=vector_cores,
        derived=("hertz", "float_rate"),
        soc=f"Ascend{name.upper()}",
    )


_A100_80GB = Chip(
    name="a100",
    title="NVIDIA A100 SXM4 80 GB",
    cores=108,
    hertz=1.41e9,
    memory_bytes=80 * _GB,
    memory_rate=2.039e12,
    cache_bytes=40 * _MIB,
    float_rate=19.5e12,
    matrix_rate=312e12,
    sources=(_AMPERE, _A100, _CAPABILITIES),
    multiprocessor=_SM80,
)

CHIPS = {
    chip.name: chip
    for chip in (
        _A100_80GB,
        replace(
            _A100_80GB,
            name="a100-40gb",
            title="NVIDIA A100 SXM4 40 GB",
            memory_bytes=40 * _GB,
            memory_rate=1.555e12,
            sources=(_AMPERE, _CAPABILITIES),
        ),
        Chip(
            name="h100",
            title="NVIDIA H100 SXM5 80 GB",
            cores=132,
            hertz=1.98e9,
            memory_bytes=80 * _GB,
            memory_rate=3.35e12,
            cache_bytes=50 * _MIB,
            float_rate=67e12,
            matrix_rate=989e12,
            sources=(_HOPPER, _H100, _CAPABILITIES),
            multiprocessor=_SM90,
        ),
        Chip(
            name="h200",
            title="NVIDIA H200 SXM 141 GB",
            cores=132,
            hertz=1.98e9,
            memory_bytes=141 * _GB,
            memory_rate=4.8e12,
            cache_bytes=50 * _MIB,
            float_rate=67e12,
            matrix_rate=989e12,
            sources=(_HOPPER, _H200, _CAPABILITIES),
            multiprocessor=_SM90,
        ),
        Chip(
            name="rtx4090",
            title="NVIDIA GeForce RTX 4090",
            cores=128,
            hertz=2.52e9,
            memory_bytes=24 * _GB,
            memory_rate=1.008e12,
            cache_bytes=72 * _MIB,
            float_rate=82.6e12,
            matrix_rate=165.2e12,
            sources=(_ADA, _CAPABILITIES),
            multiprocessor=_SM89,
        ),
        # No such table is published for the 910B: one die of its successor replaces it.
        _ascend(
            "910b", "Ascend 910B, by the figures of one die of the 910C", 24, 48, 64, 1.6e12, 376e12, _CLOUD_MATRIX
        ),
        _ascend("910_93", "one die of the Ascend 910C", 24, 48, 64, 1.6e12, 376e12, _CLOUD_MATRIX),
        _ascend("310p", "one of two Ascend 310P of an Atlas 300I Duo", 8, 8, 48, 0.204e12, 70e12, _300I_DUO),
    )
}


def chip_named(name: str) -> Chip:
    """Return the chip with a name, ignoring case; raise InputError if there is none."""
    found = CHIPS.get(name.lower())
    if found is None:
        known = ", ".join(CHIPS)
        raise InputError(f"no chip is called {name!r}; known are {known}", hint=did_you_mean(name, CHIPS))
    return found
