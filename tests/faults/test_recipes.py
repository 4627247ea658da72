"""packaging/: the patterns of each recipe find the figures that a run prints, and each says of isotherm what is true. JUBE and
ReFrame (no distribution has it: pip install reframe-hpc) run their series where they are installed."""

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from program import command, HANGS, isotherm, ran
import recipes
from runs import record

TOP = Path(__file__).resolve().parents[2]
SCALING = TOP / "inputs" / "scaling"
FIGURES = {"JUBE": recipes.jube_figures, "Ramble": recipes.ramble_figures, "ReFrame": recipes.reframe_figures}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The output and the record of a run that has every figure: several ranks, and snapshots on the way."""
    folder = tmp_path_factory.mktemp("run")
    done = ran("run", SCALING / "strong_cpu.yaml", "output.directory=out", "output.snapshots=true", "output.every_steps=50",
               ranks=2, cwd=folder)
    return done.stdout, record(folder / "out")


def printed_figures(text):
    """Name -> value and unit, by the words of the lines alone."""
    lines = [line.split(" ") for line in text.splitlines() if line.startswith("FOM ")]
    return {name.rstrip(":"): (value, unit) for _, name, value, unit in lines}


def test_the_run_prints_every_figure(run):
    assert sorted(printed_figures(run[0])) == [
        "cell_updates", "copy_bandwidth_share", "effective_bandwidth", "halo_fraction", "halo_hidden", "time_per_step",
        "write_bandwidth", "write_hidden"]


@pytest.mark.parametrize("tool", FIGURES)
def test_every_figure_is_found_by_its_pattern(run, tool):
    figures = FIGURES[tool]()
    for name, (value, unit) in printed_figures(run[0]).items():
        assert figures[name].values(run[0]) == [value], name
        assert figures[name].unit == unit, name


@pytest.mark.parametrize("tool", FIGURES)
def test_every_pattern_finds_something(run, tool):
    for name, figure in FIGURES[tool]().items():
        assert len(figure.values(run[0])) == 1, name


@pytest.mark.parametrize("tool", FIGURES)
def test_a_figure_of_another_name_or_unit_is_not_found(run, tool):
    figure = FIGURES[tool]()["cell_updates"]
    assert figure.values(run[0].replace("cell_updates", "points")) == []
    assert figure.values(run[0].replace("GLUP/s", "MLUP/s")) == []


@pytest.mark.parametrize("tool", ["JUBE", "Ramble"])
def test_facts_are_those_of_the_record(run, tool):
    text, written = run
    found = {name: figure.values(text)[0] for name, figure in FIGURES[tool]().items()}
    assert found["fingerprint"] == written["fingerprint"]
    assert found["process_grid"] == " x ".join(map(str, written["decomposition"]["process_grid"]))
    assert found["swept_by"].split()[0] == written["method"]["kernel"]


def test_facts_that_reframe_wants(run):
    """Among them the answer of a deck, which is the same on every machine."""
    facts = recipes.reframe_test()["fact_patterns"]
    for pattern in facts("strong_cpu", 2):
        assert len(re.findall(pattern, run[0], re.MULTILINE)) == 1, pattern
    for wrong in ("RESULT: FAILED", "RESULT: NOT CONVERGED", "  ranks        1 rank on 1 host", "  fingerprint  0000000000000000"):
        assert not all(re.search(pattern, wrong, re.MULTILINE) for pattern in facts("strong_cpu", 2))
    assert recipes.reframe_test()["FINGERPRINTS"]["strong_cpu"] == run[1]["fingerprint"]


def test_decks_and_kernels_that_recipes_name_exist():
    jube = recipes.JUBE.read_text(encoding="utf-8")
    named = set(re.findall(r"\w+\.yaml(?=\})", jube))
    named |= {f"{deck}.yaml" for deck in recipes.reframe_test()["Isotherm"].deck}
    recorder, _ = recipes.ramble_application()
    for call in recorder.named("workload_variable"):
        named |= set(re.findall(r"\w+\.yaml", call.options["description"] + call.options["default"]))
    assert len(named) == 6 and all((SCALING / name).is_file() for name in named), named
    listed = isotherm("list").stdout.split("reductions (", 1)[0]
    cuda = re.findall(r'"(naive,[\w,]+)"', jube)[0].split(",")
    assert cuda == re.findall(r"^  (\w+) +cuda ", listed, re.MULTILINE)
    cpu = re.findall(r'"(reference,[\w,]+)"', jube)[0].split(",")
    assert cpu == re.findall(r"^  (\w+) +cpu ", listed, re.MULTILINE)


# Ramble


def expand(text, variables):
    """{name}, in what it stands for too."""
    for _ in range(5):
        text = re.sub(r"\{(\w+)\}", lambda found: str(variables[found[1]]), text)
    return text


@pytest.mark.parametrize("workload, deck, cells", [("strong", "strong_cpu.yaml", [64] * 3), ("weak", "weak_cpu.yaml", [48, 48, 96])])
def test_the_script_of_a_ramble_experiment(tmp_path, workload, deck, cells):
    """The commands that the application declares, with its variables, as one script: they run."""
    recorder, application = recipes.ramble_application()
    variables = {call.words[0]: call.options["default"] for call in recorder.named("workload_variable")
                 if workload in call.options["workloads"]}
    variables |= {"deck": deck, "n_ranks": 2, "experiment_run_dir": tmp_path, "isotherm_path": tmp_path}
    commands = {call.words[0]: (call.words[1], call.options["use_mpi"]) for call in recorder.named("executable")}
    chosen, = [call.options["executables"] for call in recorder.named("workload") if call.words[0] == workload]
    (tmp_path / "share" / "isotherm").mkdir(parents=True)
    (tmp_path / "share" / "isotherm" / "inputs").symlink_to(TOP / "inputs")
    lines = []
    for name in chosen:
        text, use_mpi = commands[name]
        launcher = " ".join(command(ranks=2)[:-1]) + " " if use_mpi else ""
        lines.append(launcher + expand(text, variables))
    script = "\n".join(lines)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "isotherm").symlink_to(os.environ["ISOTHERM"])
    path = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    for _ in range(2):  # once more in the same folder, as after `ramble on`
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert record(tmp_path / "run")["grid"]["cells"] == cells
    success, = recorder.named("success_criteria")
    assert any(re.match(success.options["match"], line) for line in done.stdout.splitlines())
    assert application.name == "isotherm"


def test_the_workspace_names_what_the_application_has():
    workspace = yaml.safe_load((recipes.PACKAGING / "ramble" / "scaling.yaml").read_text(encoding="utf-8"))["ramble"]
    recorder, application = recipes.ramble_application()
    assert list(workspace["applications"]) == [application.name]
    declared = {call.words[0] for call in recorder.named("workload")}
    assert set(workspace["applications"]["isotherm"]["workloads"]) == declared


# Spack

# What CMake looks for by another name than Spack has. OpenMP comes with the compiler.
SPACK_NAMES = {"nlohmann_json": "nlohmann-json", "CUDAToolkit": "cuda", "XXHASH": "xxhash"}


def libraries_of_cmake():
    text = (TOP / "cmake" / "Dependencies.cmake").read_text(encoding="utf-8")
    text = re.sub(r"^function.*?^endfunction\(\)$", "", text, flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"^ *(?:isotherm_require|find_package)\((\S+)", text, re.MULTILINE))
    names |= set(re.findall(r"find_path\((XXHASH)_INCLUDE_DIR", text)) - {"OpenMP"}
    return {SPACK_NAMES.get(name, name.lower()) for name in names - {"OpenMP"}}, text


def specs(recorder):
    """Package -> its spec and the options, for each dependency that is not only for building, running or tests."""
    linked = [call for call in recorder.named("depends_on") if "type" not in call.options]
    return {re.split(r"[@+~]", call.words[0])[0]: call for call in linked}


def test_spack_depends_on_what_cmake_looks_for():
    recorder, package = recipes.spack_package()
    names, text = libraries_of_cmake()
    linked = specs(recorder)
    assert set(linked) == names
    assert linked["cuda"].words[0] == f"cuda@{re.search(r'oldest_cuda ([0-9.]+)', text)[1]}:"
    assert linked["nccl"].words[0] == f"nccl@{re.search(r'NCCL ([0-9.]+)', text)[1]}:"
    cmake, = [call.words[0] for call in recorder.named("depends_on") if call.words[0].startswith("cmake")]
    assert cmake == f"cmake@{re.search(r'VERSION ([0-9.]+)', (TOP / 'CMakeLists.txt').read_text())[1]}:"
    assert package.git == TOP.as_uri()


def test_spack_knows_what_postprocess_needs():
    recorder, _ = recipes.spack_package()
    wanted = re.search(r"^dependencies = (.*)$", (TOP / "postprocess" / "pyproject.toml").read_text(), re.MULTILINE)[1]
    wanted = {f"py-{each.replace('>=', '@')}{':' * ('>' in each)}" for each in re.findall(r'"([^"]+)"', wanted)}
    found = {call.words[0] for call in recorder.named("depends_on") if call.options.get("type") == "run"}
    assert found == wanted | {"python@3.9:"}


class Spec:
    """A concrete one, that has these variants."""

    def __init__(self, *variants):
        self.satisfies = lambda text: text in variants


def test_spack_sets_options_that_cmake_has():
    builder = type("Builder", (), {"define_cuda_architectures": staticmethod(lambda _: "CMAKE_CUDA_ARCHITECTURES")})
    _, package = recipes.spack_package(builder=builder)
    known = set(re.findall(r"^(?:option|set)\((ISOTHERM_\w+)", (TOP / "CMakeLists.txt").read_text(), re.MULTILINE))
    given = {}
    for variants in [(), ("+cuda", "+nccl")]:
        self = package()
        self.spec, self.run_tests = Spec(*variants), True
        self.define = lambda name, value: (name, value)
        self.define_from_variant = lambda name, variant: (name, f"+{variant}" in variants)
        given[variants] = dict(each for each in self.cmake_args() if not isinstance(each, str))
    own = {name for name in given[()] if name.startswith("ISOTHERM_")}
    assert own and own <= known
    assert [each["CMAKE_DISABLE_FIND_PACKAGE_NCCL"] for each in given.values()] == [True, False]
    assert [each["ISOTHERM_CUDA"] for each in given.values()] == [False, True]


def test_spack_finds_what_is_installed(tmp_path):
    _, package = recipes.spack_package()
    subprocess.run(["cmake", "--install", Path(os.environ["ISOTHERM"]).parent, "--prefix", tmp_path], check=True,
                   stdout=subprocess.DEVNULL)
    assert all((tmp_path / name).is_file() for name in package.sanity_check_is_file)
    assert all((tmp_path / name).is_dir() for name in package.sanity_check_is_dir)


class Prefix(str):
    """A path whose attributes are paths below it."""

    def __getattr__(self, name):
        return Prefix(f"{self}/{name}")


def test_the_smoke_test_of_spack(tmp_path):
    def which(path):
        assert path == f"{tmp_path}/bin/isotherm"
        return lambda *words, **_: isotherm(*words, cwd=tmp_path).stdout
    _, package = recipes.spack_package(which=which, join_path=lambda *parts: "/".join(parts))
    (tmp_path / "share" / "isotherm").mkdir(parents=True)
    (tmp_path / "share" / "isotherm" / "inputs").symlink_to(TOP / "inputs")
    self = package()
    self.prefix = Prefix(tmp_path)
    self.test_verification()


# Apptainer


def test_the_definition_has_a_base_and_its_argument():
    header, sections = recipes.apptainer_sections()
    lines = [line for line in header.splitlines() if line and not line.startswith("#")]
    assert lines == ["Bootstrap: docker", "From: {{ base }}"]
    assert sections["arguments"].split("=")[0].strip() == "base"
    assert set(sections) == {"arguments", "files", "post", "environment", "runscript", "test", "labels", "help"}


def files_of_apptainer():
    return [line.split() for line in recipes.apptainer_sections()[1]["files"].splitlines() if line.strip()]


def test_all_that_the_image_is_built_from_is_copied():
    """What the checkout's CMake files name, with tests turned off as build_isotherm has it, and nothing that is not there."""
    copied = {source: target for source, target in files_of_apptainer()}
    assert all((TOP / source).exists() for source in copied if source != ".git")  # which an archive lacks
    assert all(target == f"/opt/isotherm/{source}" for source, target in copied.items())
    text = (TOP / "CMakeLists.txt").read_text() + (TOP / "cmake" / "Install.cmake").read_text()
    named = set(re.findall(r"add_subdirectory\((\w+)\)|install\((?:DIRECTORY|FILES) (\w+)", text))
    needed = {a or b for a, b in named} - {"tests"} | {"CMakeLists.txt", "CMakePresets.json", "cmake", ".git"}
    assert set(copied) == needed


def test_the_image_is_built_by_the_steps_of_run_sh(tmp_path):
    """%post, in a folder that stands for the root of the image, with stand-ins for what installs and builds."""
    root, commands, calls = tmp_path / "image", tmp_path / "bin", tmp_path / "calls"
    (root / "opt/isotherm").mkdir(parents=True)
    (root / "var/lib/apt/lists/of a mirror").mkdir(parents=True)
    commands.mkdir()
    for source, target in files_of_apptainer():
        if source == "cmake":
            shutil.copytree(TOP / source, root / target.lstrip("/"))
    for name, body in {"dpkg-query": "exit 1", "apt-get": "", "cmake": "", "git": "", "nvcc": "echo release 12.6"}.items():
        (commands / name).write_text(f'#!/bin/bash\necho "{name} $*" >>"{calls}"\n{body}\n')
        (commands / name).chmod(0o755)
    script = re.sub(r"(?<= )/(opt|var)/", rf"{root}/\1/", recipes.apptainer_sections()[1]["post"])
    assert re.findall(r"(?<= )/\S*", script.replace(str(root), "image:")) == ["/usr/local"], script
    done = subprocess.run(["sh", "-ec", script], env={"PATH": f"{commands}:/usr/bin:/bin", "HOME": str(tmp_path)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    called = calls.read_text().splitlines()
    install, = [line for line in called if line.startswith("apt-get ") and " install " in line]
    assert {"g++", "libopenmpi-dev", "libhdf5-openmpi-dev", "python3-h5py", "git"} <= set(install.split())
    cmake = [line for line in called if line.startswith("cmake ")]
    assert "--preset cuda" in cmake[0] and "ISOTHERM_TESTS=OFF" in cmake[0]
    assert "--build" in cmake[1] and cmake[1].endswith("--target isotherm")
    assert cmake[2:] == ["cmake --install build/cuda --prefix /usr/local"]
    assert [path for path in root.rglob("*") if path.name not in ("opt", "var", "lib", "apt", "lists")] == []


def test_the_commands_in_the_image_are_commands(tmp_path):
    _, sections = recipes.apptainer_sections()
    text = sections["test"].replace("/usr/local/share/isotherm", str(TOP))
    (tmp_path / "isotherm").symlink_to(os.environ["ISOTHERM"])
    subprocess.run(["sh", "-ec", text], check=True, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
                   stdout=subprocess.DEVNULL)
    assert sections["runscript"].split() == ["exec", "isotherm", '"$@"']


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
@pytest.mark.parametrize("name", ["post", "environment", "runscript", "test"])
def test_its_scripts_are_clean(name):  # Apptainer runs them with -e, too
    text = "#!/bin/sh -e\n" + recipes.apptainer_sections()[1][name]
    subprocess.run(["shellcheck", "-"], input=text, text=True, check=True)


RECIPE = Path(__file__).resolve().parents[2] / "packaging" / "jube" / "isotherm.yaml"
JUBE = shutil.which("jube")
needs_jube = pytest.mark.skipif(not JUBE, reason="jube is not installed (Debian, Ubuntu: apt install jube)")


def jube(*words):
    done = subprocess.run([JUBE, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS,
                          check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def series(folder, *tags, recipe=RECIPE):
    """The rows of the table, and the record of each run."""
    out = folder / "series of JUBE"
    said = jube("run", recipe, "--outpath", out, "--hide-animation", *(["--tag", *tags] if tags else []))
    table = jube("result", out, "--analyse", "--style", "csv")
    rows = [{title.split("[")[0]: text for title, text in row.items()} for row in csv.DictReader(table.strip().splitlines())]
    return rows, [record(path.parent) for path in out.rglob("run.json")], said


def expect_the_figures_of(row, written):
    performance, halo = written["performance"], written["halo"]
    for name, value in [
        ("cell_updates", performance["points_per_s"] / 1e9),
        ("effective_bandwidth", performance["effective_bandwidth_bytes_per_s"] / 1e9),
        ("copy_bandwidth_share", performance["copy_bandwidth_share_percent"]),
        ("time_per_step", 1e3 * performance["step_s"]),
        ("halo_fraction", performance["halo_fraction_percent"]),
        ("halo_hidden", halo["hidden_percent"]),
        ("write_bandwidth", None),
        ("write_hidden", None),
    ]:
        if value is None:
            assert row[name] == "", name
        else:
            assert float(row[name]) == pytest.approx(value, rel=6e-3), name  # three digits
    assert row["process_grid"] == " x ".join(map(str, written["decomposition"]["process_grid"]))
    assert row["swept_by"].split()[0] == written["method"]["kernel"]
    assert (row["fingerprint"], row["verdict"]) == (written["fingerprint"], written["result"])


@needs_jube
@pytest.mark.parametrize("tags, cells", [((), [[64] * 3] * 2), (("weak",), [[48] * 3, [48, 48, 96]])])
def test_a_series_over_ranks(tmp_path, tags, cells):
    rows, records, _ = series(tmp_path, *tags)
    assert [row["ranks"] for row in rows] == ["1", "2"]
    records.sort(key=lambda written: len(written["ranks"]))
    assert [len(written["ranks"]) for written in records] == [1, 2]
    assert [written["grid"]["cells"] for written in records] == cells
    for row, written in zip(rows, records):
        expect_the_figures_of(row, written)
    assert (rows[0]["fingerprint"] == rows[1]["fingerprint"]) == (not tags)


@needs_jube
def test_every_kernel(tmp_path):
    rows, records, _ = series(tmp_path, "kernels")
    assert {row["kernel"] for row in rows} == {"reference", "openmp", "temporal_openmp"}
    for row in rows:
        written, = [written for written in records if written["method"]["kernel"] == row["kernel"]]
        expect_the_figures_of(row, written)
    assert len({row["fingerprint"] for row in rows}) == 1


@needs_jube
def test_parameters_of_a_user(tmp_path):
    """Two grids, and a key of the deck: as the comments in the recipe say it."""
    recipe = tmp_path / "mine.yaml"
    text = RECIPE.read_text().replace('$jube_benchmark_home/../../inputs', str(RECIPE.parents[2] / "inputs"))
    edited = text.replace('separator: ";", _: deck}', 'separator: ";", _: "16;[16,16,24]"}')
    edited = edited.replace('{name: overrides, separator: ";", _: ""}',
                            '{name: overrides, separator: ";", _: "problem.steps=8 problem.check_interval=4"}')
    assert edited.count("16;[16,16,24]") == 1 and edited.count("problem.steps=8") == 1
    recipe.write_text(edited)
    rows, records, _ = series(tmp_path, recipe=recipe)
    assert len(rows) == 4 and {written["performance"]["sweeps"] for written in records} == {8}
    assert sorted(written["grid"]["cells"] for written in records) == [[16] * 3] * 2 + [[16, 16, 24]] * 2
    assert len({row["fingerprint"] for row in rows}) == 2


@needs_jube
def test_a_run_that_fails_has_no_figures(tmp_path, monkeypatch):
    """The others go on."""
    program = tmp_path / "program"
    program.write_text('#!/bin/bash\n[[ ${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE} == 1 ]] && exit 69\nexec "$REAL" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("REAL", os.environ["ISOTHERM"])
    monkeypatch.setenv("ISOTHERM", str(program))
    rows, records, said = series(tmp_path)
    assert [row["verdict"] for row in rows] == ["", "DONE"] and rows[0]["cell_updates"] == ""
    expect_the_figures_of(rows[1], *records)
    assert "|      run |   2 |    0 |    0 |     1 |    1 |" in said


REFRAME = shutil.which("reframe")
needs_reframe = pytest.mark.skipif(not REFRAME, reason="reframe is not installed (pip install reframe-hpc)")

# What a site writes down of itself.
SETTINGS = """\
site_configuration = {
    "systems": [{"name": "one", "hostnames": [".*"], "partitions": [
        {"name": "host", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"], "max_jobs": 1},
        {"name": "gpus", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"], "features": ["gpu"]}]}],
}
"""


def reframe(folder, *words):
    """In a home of its own, where it keeps reports."""
    (folder / "settings.py").write_text(SETTINGS)
    done = subprocess.run(
        [REFRAME, "--nocolor", "-C", "settings.py", "-c", recipes.REFRAME, "-S", f"Isotherm.program={os.environ['ISOTHERM']}",
         *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS, check=False,
        env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)})
    assert done.returncode == 0, done.stdout
    return done.stdout


@needs_reframe
@pytest.mark.parametrize("tag, decks", [
    ("cpu", {"strong_cpu", "weak_cpu"}), ("gpu", {"strong_512", "weak_512"}), ("weak", {"weak_cpu", "weak_512"})])
def test_tags_choose_decks(tmp_path, tag, decks):
    listed = re.findall(r"^- Isotherm %deck=(\w+) %ranks=([1248]) ", reframe(tmp_path, "--system=one", "--list", "--tag", tag), re.MULTILINE)
    assert len(listed) == 8 and {deck for deck, _ in listed} == decks


@needs_reframe
@pytest.mark.parametrize("deck, cells", [("strong_cpu", [64] * 3), ("weak_cpu", [48, 48, 96])])
def test_a_run_on_two_ranks(tmp_path, deck, cells):
    said = reframe(tmp_path, "--run", "--keep-stage-files", "--system=one:host", "--name", f"%deck={deck}.*%ranks=2$")
    assert "[  PASSED  ] Ran 1/1 test case(s)" in said
    written, = [record(path.parent) for path in tmp_path.rglob("run.json")]
    assert (written["grid"]["cells"], len(written["ranks"])) == (cells, 2)
    figures = dict(re.findall(r"^P: (\w+): ([\d.]+) ", said, re.MULTILINE))
    assert set(figures) == set(recipes.reframe_test()["FIGURES"]) - {"write_bandwidth", "write_hidden"}
    assert float(figures["cell_updates"]) == pytest.approx(written["performance"]["points_per_s"] / 1e9, rel=6e-3)


@needs_reframe
def test_another_answer_fails(tmp_path):
    """The fingerprint of a deck is known: a run of one more step does not have it."""
    with pytest.raises(AssertionError, match="Failing phase: sanity"):
        reframe(tmp_path, "--run", "--system=one:host", "--name", "%deck=strong_cpu.*%ranks=1$", "-S", "Isotherm.overrides=problem.steps=201")
