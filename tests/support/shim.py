"""Small libraries in C, built once per module and preloaded by tests that need a fault or a tool."""

import shutil
import subprocess

import pytest


def build_shim(source, folder, *options):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler for the library that makes the faults")
    library = folder / (source.stem + ".so")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *options, "-o", library, source, "-ldl"], check=True)
    return library
