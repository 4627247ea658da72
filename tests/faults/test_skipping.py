"""A skipped case must never hide a failed one: both helpers that tell CTest of skips, on made-up results."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[1] / "support"


@pytest.mark.parametrize(
    "passed, skipped, failed, code",
    [(2, 0, 0, 0), (2, 1, 0, 0), (0, 3, 0, 77), (0, 0, 0, 77), (0, 1, 1, 1), (2, 1, 1, 1)],
)
def test_gtest_programs(tmp_path, passed, skipped, failed, code):
    """The last lines of GoogleTest 1.12."""
    output = f"[  PASSED  ] {passed} test{'' if passed == 1 else 's'}.\n"
    output += f"[  SKIPPED ] {skipped} tests, listed below:\n[  SKIPPED ] A.b\n" if skipped else ""
    output += f"[  FAILED  ] {failed} test, listed below:\n[  FAILED  ] A.c\n" if failed else ""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/bash\ncat <<'END'\n{output}END\nexit {1 if failed else 0}\n")
    program.chmod(0o755)
    result = subprocess.run([SUPPORT / "run_gtest.sh", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (code, output)


@pytest.mark.parametrize(
    "cases, code",
    [
        ("def test_a(): pass", 0),
        ("def test_a(): pass\ndef test_b(): pytest.skip('no')", 0),
        ("def test_b(): pytest.skip('no')", 77),
        ("pytest.skip('no', allow_module_level=True)", 77),
        ("def test_b(): pytest.skip('no')\ndef test_c(): assert False", 1),
        ("@pytest.fixture\ndef broken(): raise OSError\ndef test_c(broken): pass\ndef test_b(): pytest.skip('no')", 1),
        ("", 5),  # a file without cases is a mistake
    ],
)
def test_pytest_files(tmp_path, cases, code):
    (tmp_path / "test_it.py").write_text(f"import pytest\n{cases}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "all_skipped", "test_it.py"]
    environment = os.environ | {"PYTHONPATH": str(SUPPORT)}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert result.returncode == code
