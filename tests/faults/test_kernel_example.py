"""The row that kernels/README.md shows is a row: it compiles as it stands there, gives the bits of the formula, and its line
fits the registry."""

import re
import shutil
import subprocess

import pytest

from documentation import TOP, blocks

README = TOP / "kernels" / "README.md"
FLAGS = ["-std=c++20", "-fopenmp", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
         "-I", TOP / "src", "-I", TOP, "-D", "ISOTHERM_ISA=Baseline", "-D", "ISOTHERM_HAVE_CUDA=0"]
# One sweep of 4 x 3 x 2 cells with a layer of ghosts, and the formula beside it.
MAIN = """
#include <cmath>
#include <vector>
#include "{row}"
using namespace isotherm;
int main() {{
  std::vector<double> in(6 * 5 * 4), out(in.size(), -7), source(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {{ in[i] = std::sin(double(i)); source[i] = std::cos(double(i)); }}
  const auto view = [](std::vector<double>& f) {{ return FieldView<double>{{f.data() + 1 + 6 + 30, 6, 30, {{4, 3, 2}}, 1}}; }};
  StencilKernel<double> row;
  host::stencil_{word}<host::Baseline>(row);
  const Coefficients<double> c{{0.37, 0.11, 0.13, 0.075}};
  row.launch({{view(in), view(out), {{{{0, 0, 0}}, {{4, 3, 2}}}}, c, {{}}, view(source), {{}}}}, {{}}, {{}});
  int wrong = 0;
  for (int i = 0; i < int(in.size()); ++i) {{
    const int x = i % 6, y = i / 6 % 5, z = i / 30;
    double value = -7;
    if (x > 0 && x < 5 && y > 0 && y < 4 && z > 0 && z < 3) {{
      value = std::fma(c.c0, in[i], source[i]);
      value = std::fma(c.cx, in[i - 1] + in[i + 1], value);
      value = std::fma(c.cy, in[i - 6] + in[i + 6], value);
      value = std::fma(c.cz, in[i - 30] + in[i + 30], value);
    }}
    wrong += out[i] != value;
  }}
  return wrong;
}}
"""


@pytest.fixture(scope="module")
def compiler():
    found = shutil.which("g++") or shutil.which("c++")
    return found or pytest.skip("needs a C++ compiler")


def shown():
    """The row, and its line."""
    row, line = [block for block in blocks(README, "cpp") if "student" in block]
    return row, line


def compiled(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_row_gives_the_bits_of_the_formula(tmp_path, compiler):
    row, line = shown()
    word = re.search(r"HOST\(stencil, (\w+),", line)[1]
    assert f"host/stencil_{word}.cpp" in README.read_text(encoding="utf-8")
    (tmp_path / "row.cpp").write_text(row)
    (tmp_path / "main.cpp").write_text(MAIN.format(row="row.cpp", word=word))
    compiled(compiler, *FLAGS, "-O1", "-I", tmp_path, tmp_path / "main.cpp", "-o", tmp_path / "main")
    assert subprocess.run([tmp_path / "main"]).returncode == 0, "cells are wrong"


def test_its_line_is_all_that_the_registry_needs(tmp_path, compiler):
    """The table has the row, and asks for its function: nothing but the linker misses that."""
    text = (TOP / "kernels" / "registry.cpp").read_text(encoding="utf-8")
    before = next(line for line in text.splitlines() if line.lstrip().startswith("HOST(stencil, openmp,"))
    (tmp_path / "registry.cpp").write_text(text.replace(before + "\n", before + "\n" + shown()[1]))
    compiled(compiler, *FLAGS, "-O0", "-c", tmp_path / "registry.cpp", "-o", tmp_path / "registry.o")
    symbols = subprocess.run(["nm", "-C", "-u", tmp_path / "registry.o"], capture_output=True, text=True, check=True).stdout
    assert "isotherm::host::stencil_student<isotherm::host::" in symbols
