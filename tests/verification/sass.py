"""The machine code of the CUDA kernels in two programs, a hash for each: shows that a change of names or of host code left them alone.

    python3 tests/verification/sass.py before/isotherm after/isotherm        exit code 1 where code differs

Both built by one compiler for one architecture. Needs cuobjdump of the CUDA Toolkit. No test runs it: on most machines CUDA is
not compiled at all.
"""

import collections
import hashlib
import re
import subprocess
import sys


def short_name(name):
    """The name of a demangled function, without arguments of the template and the function."""
    return re.sub(r"isotherm::|cuda::|\(anonymous namespace\)::|void |cub::CUB\w+::|[<(].*", "", name.replace("(anonymous namespace)::", ""))


def kernels(program):
    """The hash and the name of each."""
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
    return [(code.hexdigest()[:16], short_name(name)) for code, name in zip(codes, plain)]


def main(before, now):
    """Names may change, code may not."""
    before, now = kernels(before), kernels(now)
    codes_before, codes_now = (collections.Counter(code for code, _ in found) for found in (before, now))
    lost, new = codes_before - codes_now, codes_now - codes_before
    for sign, codes, found in (("-", lost, before), ("+", new, now)):
        for code, name in sorted(set(found), key=lambda item: item[1]):
            if code in codes:
                print(sign, code, name)
    print(f"{len(now)} kernels; code of {lost.total()} is gone, of {new.total()} is new")
    return 1 if lost or new else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
