"""The machine code of the CUDA kernels in a program, a hash for each: shows that a change of names or of host code left them alone.

    python3 tests/verification/sass.py build/cuda/isotherm           compares with sass_sm90.txt; exit code 1 where code differs
    python3 tests/verification/sass.py build/cuda/isotherm --write   writes it anew

sass_sm90.txt is of nvcc 13.0.88, preset cuda with CMAKE_CUDA_ARCHITECTURES=90-real. Another compiler makes other code. Needs
cuobjdump of the CUDA Toolkit. No test runs it: on most machines CUDA is compiled otherwise or not at all.
"""

import collections
import hashlib
import re
import subprocess
import sys
from pathlib import Path

FROZEN = Path(__file__).with_name("sass_sm90.txt")


def short_name(name):
    """Of a demangled function, without its template's and its own arguments."""
    return re.sub(r"isotherm::|cuda::|\(anonymous namespace\)::|void |cub::CUB\w+::|[<(].*", "", name.replace("(anonymous namespace)::", ""))


def kernels(program):
    """How many functions there are of each (hash, name)."""
    listing = subprocess.run(["cuobjdump", "-sass", program], capture_output=True, text=True, check=True).stdout
    names, codes = [], []
    for line in listing.splitlines():
        start = re.match(r"\s*Function : (\S+)", line)
        if start:
            names.append(start[1])
            codes.append(hashlib.sha256())
        elif names and re.match(r"\s+(/\*[0-9a-f]{4,}\*/.*)?/\* 0x[0-9a-f]{16} \*/", line):
            codes[-1].update(re.sub(r"\s+", " ", line).encode())
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()
    return collections.Counter((code.hexdigest()[:16], short_name(name)) for code, name in zip(codes, plain))


def text(found):
    return "".join(f"{code} {count:2} {name}\n" for (code, name), count in sorted(found.items(), key=lambda item: item[0][::-1]))


def by_code(table):
    """Names may change, code may not."""
    codes = collections.Counter()
    for line in table.splitlines():
        code, count, name = line.split(maxsplit=2)
        codes[code] += int(count)
    return codes


def main(program, *options):
    now = text(kernels(program))
    if options == ("--write",):
        FROZEN.write_text(now, encoding="utf-8")
        return 0
    before = FROZEN.read_text(encoding="utf-8")
    lost, new = by_code(before) - by_code(now), by_code(now) - by_code(before)
    for sign, codes, table in (("-", lost, before), ("+", new, now)):
        for line in table.splitlines():
            if line.split()[0] in codes:
                print(sign, line)
    print(f"{sum(by_code(now).values())} kernels; code of {sum(lost.values())} is gone, of {sum(new.values())} is new")
    return 1 if lost or new else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
