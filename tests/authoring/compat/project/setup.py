"""As it was for torch.utils.cpp_extension, but for one import."""

import glob

from setuptools import find_packages, setup

from opbridge.compat.cpp_extension import BuildExtension, CppExtension

setup(
    name="muladd-ext",
    version="0.0.1",
    packages=find_packages(),
    ext_modules=[
        CppExtension(
            "muladd_ext._C",
            sorted(glob.glob("muladd_ext/csrc/*.cpp")),
            extra_compile_args={"cxx": ["-O2", "-DMULADD_FROM_SETUP=1"]},
            extra_link_args=["-Wl,-O1"],
            py_limited_api=True,
        )
    ],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
