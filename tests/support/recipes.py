"""The recipes of packaging/, read without the tools that they are for: what they declare is recorded.

A stand-in takes any call. So it proves nothing of a tool's own rules, but the recipe's lines run, and what they say of
isotherm is there to be compared with isotherm.
"""

import contextlib
import re
import runpy
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path

import yaml

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
JUBE = PACKAGING / "jube" / "isotherm.yaml"
RAMBLE = PACKAGING / "ramble" / "applications" / "isotherm" / "application.py"
REFRAME = PACKAGING / "reframe" / "isotherm.py"
SPACK = PACKAGING / "spack" / "spack_repo" / "isotherm" / "packages" / "isotherm" / "package.py"
APPTAINER = PACKAGING / "apptainer" / "isotherm.def"


@dataclass
class Call:
    words: tuple
    options: dict = field(default_factory=dict)


class Recorder:
    """Functions by name, each of which notes how it was called. `with when(...)` and the like add their options."""

    def __init__(self):
        self.calls = {}
        self._around = {}

    def directive(self, name):
        def note(*words, **options):
            self.calls.setdefault(name, []).append(Call(words, {**self._around, **options}))
        return note

    @contextlib.contextmanager
    def within(self, *words, **options):
        """`when` with a condition alone, `default_args` with options."""
        before, self._around = self._around, {**self._around, **options, **({"when": words[0]} if words else {})}
        yield
        self._around = before

    def named(self, name):
        return self.calls.get(name, [])


def module(name, **contents):
    made = types.ModuleType(name)
    vars(made).update(contents)
    return made


@contextlib.contextmanager
def instead_of_modules(*modules):
    before = {each.__name__: sys.modules.get(each.__name__) for each in modules}
    sys.modules.update({each.__name__: each for each in modules})
    try:
        yield
    finally:
        for name, old in before.items():
            sys.modules.pop(name)
            if old:
                sys.modules[name] = old


def run_recipe(path, *modules):
    with instead_of_modules(*modules):
        return runpy.run_path(str(path))


def decorator(*_, **__):
    return lambda function: function


class Anything:
    """Gives itself for whatever is asked of it."""

    def __getattr__(self, name):
        return Anything()

    def __getitem__(self, key):
        return Anything()

    def __call__(self, *words, **options):
        return Anything()


def ramble_application():
    """What application.py declares, and its class."""
    recorder = Recorder()
    directives = ("tags software_spec required_package executable workload workload_variable figure_of_merit "
                  "success_criteria").split()
    appkit = module("ramble.appkit", ExecutableApplication=object, when=recorder.within, OUTPUT_CAPTURE=Anything(),
                    **{name: recorder.directive(name) for name in directives})
    found = run_recipe(RAMBLE, module("ramble"), appkit)
    return recorder, found["Isotherm"]


def spack_package(**functions):
    """What package.py declares, and its class, whose methods find `functions`."""
    recorder = Recorder()
    directives = "license version variant depends_on conflicts".split()
    package = module("spack.package", default_args=recorder.within, when=recorder.within, **functions,
                     **{name: recorder.directive(name) for name in directives})
    cmake = module("spack_repo.builtin.build_systems.cmake", CMakeBuilder=functions.get("builder", Anything()),
                   CMakePackage=type("CMakePackage", (), {}))
    cuda = module("spack_repo.builtin.build_systems.cuda", CudaPackage=type("CudaPackage", (), {}))
    parents = [module(name) for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")]
    found = run_recipe(SPACK, *parents, package, cmake, cuda)
    return recorder, found["Isotherm"]


def reframe_test():
    """The names of isotherm.py for ReFrame."""
    builtins = module("reframe.core.builtins", parameter=list, variable=lambda *_, **options: options.get("value"),
                      run_after=decorator, run_before=decorator, sanity_function=lambda function: function)
    reframe = module("reframe", simple_test=lambda test: test, RunOnlyRegressionTest=object)
    sanity, typecheck = module("reframe.utility.sanity"), module("reframe.utility.typecheck", List=Anything())
    utility = module("reframe.utility", sanity=sanity, typecheck=typecheck)
    reframe.utility, reframe.core = utility, module("reframe.core", builtins=builtins)
    return run_recipe(REFRAME, reframe, utility, sanity, typecheck, reframe.core, builtins)


@dataclass
class Figure:
    pattern: str  # with one group, the value
    unit: str
    by_line: bool = False  # matched at the start of a line, not searched in the whole

    def values(self, text):
        if self.by_line:
            return [match[1] for match in map(re.compile(self.pattern).match, text.splitlines()) if match]
        return re.findall(self.pattern, text, re.MULTILINE)


def jube_figures():
    own = {"$jube_pat_fp": "([-+.eE0-9]+)", "$jube_pat_wrd": r"(\S+)", "$$": "$"}
    figures = {}
    for patterns in yaml.safe_load(JUBE.read_text(encoding="utf-8"))["patternset"]:
        for pattern in patterns["pattern"]:
            text = pattern["_"]
            for word, meaning in own.items():
                text = text.replace(word, meaning)
            figures[pattern["name"]] = Figure(text, pattern.get("unit", ""))
    return figures


def ramble_figures():
    recorder, _ = ramble_application()
    return {call.words[0]: Figure(call.options["fom_regex"], call.options.get("units", ""), by_line=True)
            for call in recorder.named("figure_of_merit")}


def reframe_figures():
    found = reframe_test()
    return {name: Figure(found["figure_pattern"](name), unit) for name, unit in found["FIGURES"].items()}


def apptainer_sections():
    """The header, then each %section by its name."""
    header, *sections = re.split(r"^%(?=[a-z])", APPTAINER.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return header, {name: body for name, body in (text.split("\n", 1) for text in sections)}
