"""packaging/: the patterns of each recipe find the figures that a run prints, and its statements on isotherm are
true. JUBE and ReFrame (not in distributions: pip install reframe-hpc) run their series where they are installed.
Recipes of Ramble, Spack and ReFrame are executed with stand-ins for their tools: this does not test the tools' own
rules, but compares the recipe's statements with isotherm."""

import contextlib
import csv
import os
import re
import runpy
import shutil
import sys
from types import SimpleNamespace
from unittest import mock

import pytest
import yaml

from checkout import Checkout, TOP
from program import command, finished, listed, ran, write_script
from runs import record

SCALING = TOP / "inputs" / "scaling"
PACKAGING = TOP / "packaging"
JUBE = PACKAGING / "jube" / "isotherm.yaml"
RAMBLE = PACKAGING / "ramble"
REFRAME = PACKAGING / "reframe" / "isotherm.py"
SPACK = PACKAGING / "spack" / "spack_repo" / "isotherm" / "packages" / "isotherm" / "package.py"
APPTAINER = PACKAGING / "apptainer" / "isotherm.def"


def directives(names):
    """Functions by name, which record their calls."""
    return {name: mock.MagicMock() for name in names.split()}


def run_recipe(path, modules):
    """The names defined by a recipe, executed with these modules in place of its tool's."""
    with mock.patch.dict(sys.modules, modules):
        return runpy.run_path(str(path))


def ramble_application():
    """The calls of application.py by directive, and its class."""
    recorded = directives("tags software_spec required_package executable workload workload_variable "
                          "figure_of_merit success_criteria when")
    appkit = SimpleNamespace(ExecutableApplication=object, OUTPUT_CAPTURE=mock.MagicMock(), **recorded)
    found = run_recipe(RAMBLE / "applications" / "isotherm" / "application.py", {"ramble.appkit": appkit})
    return {name: directive.call_args_list for name, directive in recorded.items()}, found["Isotherm"]


def spack_package(**functions):
    """The dependencies of package.py with their options, and its class, whose methods can call `functions`."""
    needed, defaults = [], {}

    @contextlib.contextmanager
    def default_args(**options):
        defaults.update(options)
        yield
        defaults.clear()

    def depends_on(spec, **options):
        needed.append((spec, {**defaults, **options}))

    package = SimpleNamespace(depends_on=depends_on, default_args=default_args, **functions,
                              **directives("license version variant conflicts when"))
    cmake = SimpleNamespace(CMakeBuilder=functions.get("builder"), CMakePackage=type("CMakePackage", (), {}))
    cuda = SimpleNamespace(CudaPackage=type("CudaPackage", (), {}))
    found = run_recipe(SPACK, {"spack.package": package, "spack_repo.builtin.build_systems.cmake": cmake,
                               "spack_repo.builtin.build_systems.cuda": cuda})
    return needed, found["Isotherm"]


def reframe_test():
    """The names of isotherm.py for ReFrame."""
    def decorator(*_):
        return lambda function: function

    builtins = SimpleNamespace(parameter=list, variable=lambda *_, **options: options.get("value"),
                               run_after=decorator, run_before=decorator, sanity_function=lambda function: function)
    reframe = mock.MagicMock(simple_test=lambda test: test, RunOnlyRegressionTest=object)
    return run_recipe(REFRAME, {"reframe": reframe, "reframe.utility.sanity": reframe,
                                "reframe.utility.typecheck": reframe, "reframe.core.builtins": builtins})


def ramble_figures():
    """Patterns with one group, the value, and units. Ramble matches at the start of lines."""
    return {call.args[0]: (f"^(?:{call.kwargs['fom_regex']})", call.kwargs.get("units", ""))
            for call in ramble_application()[0]["figure_of_merit"]}


def reframe_figures():
    found = reframe_test()
    return {name: (found["figure_pattern"](name), unit) for name, unit in found["FIGURES"].items()}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The output and record of a run with every figure: several ranks, and several snapshots."""
    folder = tmp_path_factory.mktemp("run")
    done = ran("run", SCALING / "strong_cpu.yaml", "output.directory=out", "output.snapshots=true", "output.every_steps=50",
               ranks=2, cwd=folder)
    return done.stdout, record(folder / "out")


@pytest.mark.parametrize("figures_of_tool", [ramble_figures, reframe_figures])
def test_patterns_find_the_figures_of_a_run_and_no_others(run, figures_of_tool):
    text, written = run
    printed = {name: ([value], unit) for name, value, unit in re.findall(r"^FOM (\w+): (\S+) (\S+)$", text, re.MULTILINE)}
    assert sorted(printed) == ["cell_updates", "copy_bandwidth_share", "effective_bandwidth", "halo_fraction",
                               "halo_hidden", "time_per_step", "write_bandwidth", "write_hidden"]
    figures = figures_of_tool()
    found = {name: (re.findall(pattern, text, re.MULTILINE), unit)
             for name, (pattern, unit) in figures.items()}
    assert {name: found[name] for name in printed} == printed
    several = {name for name, (values, _) in found.items() if len(values) != 1}
    assert several <= {"swept_by"}  # printed again after autotuning: Ramble takes the last one
    for theirs, other in (("cell_updates", "points"), ("GLUP/s", "MLUP/s")):
        assert re.findall(figures["cell_updates"][0], text.replace(theirs, other), re.MULTILINE) == []
    if figures_of_tool is ramble_figures:
        facts = {name: found[name][0][-1] for name in ("fingerprint", "process_grid", "swept_by")}
        assert facts["fingerprint"] == written["fingerprint"]
        assert facts["process_grid"] == " x ".join(map(str, written["decomposition"]["process_grid"]))
        assert facts["swept_by"].split()[0] == written["method"]["kernel"]


def test_facts_that_reframe_reads(run):
    """They include the fingerprint of a deck, which is the same on every machine."""
    facts = reframe_test()["fact_patterns"]("strong_cpu", 2)
    assert [len(re.findall(pattern, run[0], re.MULTILINE)) for pattern in facts] == [1] * len(facts)
    assert reframe_test()["FINGERPRINTS"]["strong_cpu"] == run[1]["fingerprint"]


def test_decks_that_recipes_name_exist():
    jube = JUBE.read_text(encoding="utf-8")
    named = set(re.findall(r"\w+\.yaml(?=\})", jube)) | {f"{deck}.yaml" for deck in reframe_test()["Isotherm"].deck}
    for call in ramble_application()[0]["workload_variable"]:
        named |= set(re.findall(r"\w+\.yaml", call.kwargs["description"] + call.kwargs["default"]))
    assert len(named) == 6 and all((SCALING / name).is_file() for name in named), named


# Ramble


def run_script(prefix, folder, *words):
    """A script whose isotherm is the installed one."""
    return finished(words, 0, cwd=folder, env={**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}"}).stdout


@pytest.mark.parametrize("workload, deck, cells", [("strong", "strong_cpu.yaml", [64] * 3), ("weak", "weak_cpu.yaml", [48, 48, 96])])
def test_the_script_of_a_ramble_experiment(prefix, tmp_path, workload, deck, cells):
    """The commands and variables that the application declares run as one script."""
    calls, application = ramble_application()
    variables = {call.args[0]: call.kwargs["default"] for call in calls["workload_variable"]
                 if workload in call.kwargs["workloads"]}
    variables |= {"deck": deck, "n_ranks": 2, "experiment_run_dir": tmp_path, "isotherm_path": prefix}
    commands = {call.args[0]: (call.args[1], call.kwargs["use_mpi"]) for call in calls["executable"]}
    workloads = {call.args[0]: call.kwargs["executables"] for call in calls["workload"]}
    script = "\n".join((" ".join(command(ranks=2)[:-1]) + " ") * use_mpi + text
                       for text, use_mpi in map(commands.get, workloads[workload]))
    for _ in range(5):  # variables may contain others
        script = script.format(**variables)
    for _ in range(2):  # again in the same folder, as after `ramble on`
        text = run_script(prefix, tmp_path, "bash", "-c", script)
    assert record(tmp_path / "run")["grid"]["cells"] == cells
    success, = calls["success_criteria"]
    assert any(re.match(success.kwargs["match"], line) for line in text.splitlines())
    workspace = yaml.safe_load((RAMBLE / "scaling.yaml").read_text(encoding="utf-8"))["ramble"]["applications"]
    assert list(workspace) == [application.name] == ["isotherm"] and set(workspace["isotherm"]["workloads"]) == set(workloads)


# Spack

# CMake names that differ from those of Spack. OpenMP comes with the compiler.
SPACK_NAMES = {"nlohmann_json": "nlohmann-json", "CUDAToolkit": "cuda", "XXHASH": "xxhash"}


def test_spack_depends_on_what_cmake_and_postprocess_need():
    text = (TOP / "cmake" / "Dependencies.cmake").read_text(encoding="utf-8")
    text = re.sub(r"^function.*?^endfunction\(\)$", "", text, flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"^ *(?:isotherm_require|find_package)\((\S+)", text, re.MULTILINE))
    names |= set(re.findall(r"find_path\((XXHASH)_INCLUDE_DIR", text))
    needed, package = spack_package()
    assert package.git == TOP.as_uri()
    linked = {re.split(r"[@+~]", spec)[0]: spec for spec, options in needed if "type" not in options}
    assert set(linked) == {SPACK_NAMES.get(name, name.lower()) for name in names - {"OpenMP"}}
    assert linked["cuda"] == f"cuda@{re.search(r'oldest_cuda ([0-9.]+)', text)[1]}:"
    assert linked["nccl"] == f"nccl@{re.search(r'NCCL ([0-9.]+)', text)[1]}:"
    cmake, = [spec for spec, _ in needed if spec.startswith("cmake")]
    assert cmake == f"cmake@{re.search(r'VERSION ([0-9.]+)', (TOP / 'CMakeLists.txt').read_text())[1]}:"
    python = re.search(r"^dependencies = (.*)$", (TOP / "postprocess" / "pyproject.toml").read_text(), re.MULTILINE)[1]
    python = {f"py-{each.replace('>=', '@')}{':' * ('>' in each)}" for each in re.findall(r'"([^"]+)"', python)}
    assert {spec for spec, options in needed if options.get("type") == "run"} == python | {"python@3.9:"}


@pytest.mark.parametrize("variants", [(), ("+cuda", "+nccl")])
def test_spack_sets_options_that_cmake_has(variants):
    builder = SimpleNamespace(define_cuda_architectures=lambda _: "CMAKE_CUDA_ARCHITECTURES")
    self = spack_package(builder=builder)[1]()
    self.spec, self.run_tests = SimpleNamespace(satisfies=lambda text: text in variants), True
    self.define = lambda name, value: (name, value)
    self.define_from_variant = lambda name, variant: (name, f"+{variant}" in variants)
    given = dict(each for each in self.cmake_args() if not isinstance(each, str))
    own = {name for name in given if name.startswith("ISOTHERM_")}
    assert own and own <= set(re.findall(r"^(?:option|set)\((ISOTHERM_\w+)", (TOP / "CMakeLists.txt").read_text(), re.MULTILINE))
    assert (given["CMAKE_DISABLE_FIND_PACKAGE_NCCL"], given["ISOTHERM_CUDA"]) == (not variants, bool(variants))


def test_spack_finds_what_is_installed_and_its_smoke_test_passes(prefix, tmp_path):
    self = spack_package(which=lambda path: lambda *words, **_: finished([path, *words], 0, cwd=tmp_path).stdout,
                         join_path=os.path.join)[1]()
    assert all((prefix / name).is_file() for name in self.sanity_check_is_file)
    assert all((prefix / name).is_dir() for name in self.sanity_check_is_dir)
    inputs = prefix / "share" / "isotherm" / "inputs"
    self.prefix = SimpleNamespace(bin=SimpleNamespace(isotherm=prefix / "bin" / "isotherm"),
                                  share=SimpleNamespace(isotherm=SimpleNamespace(inputs=inputs)))
    self.test_verification()


# Apptainer


HEADER, *PARTS = re.split(r"^%(?=[a-z])", APPTAINER.read_text(encoding="utf-8"), flags=re.MULTILINE)
SECTIONS = dict(text.split("\n", 1) for text in PARTS)
COPIED = dict(line.split() for line in SECTIONS["files"].splitlines() if line.strip())


def test_the_definition_has_a_base_and_copies_the_sources_of_the_image():
    """It copies what the checkout's CMake files name, except tests, which build_isotherm turns off; and all of it exists."""
    assert [line for line in HEADER.splitlines() if line and not line.startswith("#")] == ["Bootstrap: docker", "From: {{ base }}"]
    assert SECTIONS["arguments"].split("=")[0].strip() == "base"
    assert set(SECTIONS) == {"arguments", "files", "post", "environment", "runscript", "test", "labels", "help"}
    assert all((TOP / source).exists() for source in COPIED if source != ".git")  # an archive lacks it
    assert COPIED == {source: f"/opt/isotherm/{source}" for source in COPIED}
    text = (TOP / "CMakeLists.txt").read_text() + (TOP / "cmake" / "Install.cmake").read_text()
    named = set(re.findall(r"add_subdirectory\((\w+)\)|install\((?:DIRECTORY|FILES) (\w+)", text))
    assert set(COPIED) == {a or b for a, b in named} - {"tests"} | {"CMakeLists.txt", "CMakePresets.json", "cmake", ".git"}


def test_the_image_is_built_by_the_steps_of_run_sh(tmp_path):
    """Executes %post in a folder as the root of the image, with stand-ins for installers and build tools."""
    root, checkout = tmp_path / "image", Checkout(tmp_path)
    (root / "var/lib/apt/lists/of a mirror").mkdir(parents=True)
    shutil.copytree(TOP / "cmake", root / COPIED["cmake"].lstrip("/"))
    for name, body in {"dpkg-query": "exit 1", "git": "[[ $1 != ls-files ]] || printf 'a b\\0'", "nvcc": "echo release 12.6"}.items():
        checkout.stand_in(name, body)
    script = re.sub(r"(?<= )/(opt|var)/", rf"{root}/\1/", SECTIONS["post"])
    assert re.findall(r"(?<= )/\S*", script.replace(str(root), "image:")) == ["/usr/local"], script
    finished(["sh", "-ec", script], 0, env=checkout.environment(ISOTHERM_PRESET=""))
    install, = [line for line in checkout.called("apt-get") if " install " in line]
    assert {"g++", "libopenmpi-dev", "libhdf5-openmpi-dev", "python3-h5py", "git"} <= set(install.split())
    assert checkout.called("git")[-1] == "git checkout -q -- a b"  # what is not copied, else the revision is "modified"
    configured, built, *rest = checkout.called("cmake")
    assert all(words in configured for words in ("--preset cuda", "ISOTHERM_TESTS=OFF", "ISOTHERM_HOST_KERNELS=ALL"))
    assert "--build" in built and built.endswith("--target isotherm")
    assert rest == ["cmake --install build/cuda --prefix /usr/local"]
    assert [path for path in root.rglob("*") if path.name not in ("opt", "var", "lib", "apt", "lists")] == []


def test_the_commands_in_the_image_are_commands(prefix, tmp_path):
    text = SECTIONS["test"].replace("/usr/local/share/isotherm", str(TOP))
    run_script(prefix, tmp_path, "sh", "-ec", text)
    assert SECTIONS["runscript"].split() == ["exec", "isotherm", '"$@"']


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("name", ["post", "environment", "runscript", "test"])
def test_its_scripts_are_clean(name):  # Apptainer runs them with -e, too
    finished(["shellcheck", "-"], 0, input="#!/bin/sh -e\n" + SECTIONS[name])


# JUBE

needs_jube = pytest.mark.skipif(not shutil.which("jube"), reason="jube is not installed (Debian, Ubuntu: apt install jube)")


def series(folder, *tags, recipe=JUBE):
    """The rows of the table, the record of each run, and the output."""
    out = folder / "series of JUBE"
    said = finished(["jube", "run", recipe, "--outpath", out, "--hide-animation", *(["--tag", *tags] if tags else [])], 0).stdout
    table = finished(["jube", "result", out, "--analyse", "--style", "csv"], 0).stdout
    rows = list(csv.DictReader(table.strip().splitlines()))
    return rows, [record(path.parent) for path in out.rglob("run.json")], said


def expect_the_figures_of(row, written):
    """unit/test_run_record.cpp tests which figures of merit a run has."""
    found = {title: float(text) for title, text in row.items() if "[" in title and text}
    merits = {f"{name}[{merit['unit']}]": merit["value"]
              for name, merit in written["figures_of_merit"].items()}
    assert found == pytest.approx(merits, rel=6e-3)  # three digits
    assert row["process_grid"] == " x ".join(map(str, written["decomposition"]["process_grid"]))
    assert row["swept_by"].split()[0] == written["method"]["kernel"]
    assert (row["fingerprint"], row["verdict"]) == (written["fingerprint"], written["result"])


@needs_jube
@pytest.mark.parametrize("tags, cells", [((), [[64] * 3] * 2), (("weak",), [[48] * 3, [48, 48, 96]])])
def test_a_series_over_ranks(tmp_path, tags, cells):
    rows, records, _ = series(tmp_path, *tags)
    records.sort(key=lambda written: len(written["ranks"]))
    assert [row["ranks"] for row in rows] == ["1", "2"] and [len(written["ranks"]) for written in records] == [1, 2]
    assert [written["grid"]["cells"] for written in records] == cells
    for row, written in zip(rows, records):
        expect_the_figures_of(row, written)
    assert (rows[0]["fingerprint"] == rows[1]["fingerprint"]) == (not tags)


@needs_jube
def test_every_kernel(tmp_path):
    rows, records, _ = series(tmp_path, "kernels")
    assert {row["kernel"] for row in rows} == set(listed("kernels")[0])
    for row in rows:
        expect_the_figures_of(row, *[written for written in records if written["method"]["kernel"] == row["kernel"]])
    assert len({row["fingerprint"] for row in rows}) == 1


@needs_jube
def test_parameters_of_a_user_and_runs_that_fail(tmp_path, monkeypatch):
    """Two grids, and keys of the deck, set as the recipe's comments say. Runs on one rank fail: they have no figures, and the others
    continue."""
    recipe, program = tmp_path / "mine.yaml", tmp_path / "program"
    text = JUBE.read_text().replace('$jube_benchmark_home/../../inputs', str(TOP / "inputs"))
    for theirs, ours in (('separator: ";", _: deck}', 'separator: ";", _: "16;[16,16,24]"}'),
                         ('{name: overrides, separator: ";", _: ""}',
                          '{name: overrides, separator: ";", _: "problem.steps=8 problem.check_interval=4 '
          'output.snapshots=true output.every_steps=2"}')):
        assert text.count(theirs) == 1
        text = text.replace(theirs, ours)
    recipe.write_text(text)
    write_script(program, '#!/bin/bash\n[[ ${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE} == 1 ]] && exit 69\nexec "$REAL" "$@"\n')
    monkeypatch.setenv("REAL", os.environ["ISOTHERM"])
    monkeypatch.setenv("ISOTHERM", str(program))
    rows, records, said = series(tmp_path, recipe=recipe)
    rows.sort(key=lambda row: row["ranks"])
    found = [(row["ranks"], row["verdict"], row["cell_updates[GLUP/s]"] == "") for row in rows]
    assert found == [("1", "", True)] * 2 + [("2", "DONE", False)] * 2
    assert {written["performance"]["sweeps"] for written in records} == {8}
    assert sorted(written["grid"]["cells"] for written in records) == [[16] * 3, [16, 16, 24]]
    for row in rows[2:]:
        expect_the_figures_of(row, *[written for written in records if written["fingerprint"] == row["fingerprint"]])
        assert row["write_bandwidth[GB/s]"] and row["write_hidden[%]"]
    assert "|      run |   4 |    0 |    0 |     2 |    2 |" in said


# ReFrame

needs_reframe = pytest.mark.skipif(not shutil.which("reframe"), reason="reframe is not installed (pip install reframe-hpc)")

# A site's own settings.
SETTINGS = """\
site_configuration = {
    "systems": [{"name": "one", "hostnames": [".*"], "partitions": [
        {"name": "host", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"], "max_jobs": 1},
        {"name": "gpus", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"], "features": ["gpu"]}]}],
}
"""


def reframe(folder, *words):
    """In a separate home folder, where it stores reports."""
    (folder / "settings.py").write_text(SETTINGS)
    return finished(["reframe", "--nocolor", "-C", "settings.py", "-c", REFRAME, "-S", f"Isotherm.program={os.environ['ISOTHERM']}",
                     *words], 0, cwd=folder, env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}).stdout


@needs_reframe
@pytest.mark.parametrize("deck, cells, tag, decks", [
    ("strong_cpu", [64] * 3, "cpu", {"strong_cpu", "weak_cpu"}), ("weak_cpu", [48, 48, 96], "weak", {"weak_cpu", "weak_512"})])
def test_a_run_on_two_ranks(tmp_path, deck, cells, tag, decks):
    """Also tests which decks a tag selects; a run with one step more does not have the deck's known fingerprint."""
    listed = re.findall(r"^- Isotherm %deck=(\w+) %ranks=([1248]) ", reframe(tmp_path, "--system=one", "--list", "--tag", tag), re.MULTILINE)
    assert len(listed) == 8 and {each for each, _ in listed} == decks
    words = ["--run", "--keep-stage-files", "--system=one:host", "--name", f"%deck={deck}.*%ranks=2$"]
    said = reframe(tmp_path, *words)
    assert "[  PASSED  ] Ran 1/1 test case(s)" in said
    written, = [record(path.parent) for path in tmp_path.rglob("run.json")]
    assert (written["grid"]["cells"], len(written["ranks"])) == (cells, 2)
    figures = dict(re.findall(r"^P: (\w+): ([\d.]+) ", said, re.MULTILINE))
    assert set(figures) == set(reframe_test()["FIGURES"]) - {"write_bandwidth", "write_hidden"}
    assert float(figures["cell_updates"]) == pytest.approx(written["performance"]["points_per_s"] / 1e9, rel=6e-3)
    if deck == "strong_cpu":
        with pytest.raises(AssertionError, match="Failing phase: sanity"):
            reframe(tmp_path, *words, "-S", "Isotherm.overrides=problem.steps=201")
