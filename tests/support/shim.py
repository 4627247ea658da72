"""Small libraries in C, built once per module and preloaded by tests that need a fault or a tool."""

import shutil
import subprocess
from pathlib import Path

import pytest


def build_shim(source, folder, *options):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler for the library that makes the faults")
    library = folder / (source.stem + ".so")
    own_yield = Path(__file__).with_name("sleeping_yield.cpp")  # instead of which the library is preloaded
    options += ("-fno-exceptions",)  # the C++ library may be missing
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *options, "-o", library, source, own_yield, "-ldl"],
                   check=True)
    return library
