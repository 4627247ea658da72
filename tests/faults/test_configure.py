"""CMake stops at a missing library and names the package to install; `cmake --install` creates a tree that works away from the build."""

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from documentation import TOP
from program import BASE_DECK, finished, write_deck, write_script

CMAKE = shutil.which("cmake")
pytestmark = pytest.mark.skipif(not CMAKE, reason="no cmake")

MISSING = {  # the options that hide it from CMake: the package to install, or another remedy
    "MPI": "libopenmpi-dev openmpi-bin", "HDF5": "libhdf5-openmpi-dev",
    "yaml-cpp": "libyaml-cpp-dev", "CLI11": "libcli11-dev", "fmt": "libfmt-dev",
    "nlohmann_json": "nlohmann-json3-dev", "pegtl": "tao-pegtl-dev", "XXHASH": "libxxhash-dev",
    "OpenMP": "use a compiler that has it (g++ has)",
    "CUDAToolkit": "put nvcc on PATH or set CMAKE_CUDA_COMPILER",
}
HIDDEN_MORE = {"XXHASH": ["-DXXHASH_INCLUDE_DIR="],
               "CUDAToolkit": ["-DISOTHERM_CUDA=ON", "-DCMAKE_CUDA_COMPILER="]}


def configure(build, *options, code=0):
    """Clears what earlier tests hid or found, but keeps the slow compiler and MPI checks."""
    forget = ["-UCMAKE_DISABLE_FIND_PACKAGE_*", "-UMUPARSER_*", "-UXXHASH_*", "-UISOTHERM_HDF5", "-UISOTHERM_HOST_KERNELS",
              "-UISOTHERM_NVCC", "-UISOTHERM_PYTHON", "-UHDF5_*", "-UCMAKE_CUDA_*", "-UCMAKE_CXX_FLAGS*", "-UCMAKE_INSTALL_*"]
    return finished([CMAKE, "-S", TOP, "-B", build, *forget, "-DISOTHERM_CUDA=OFF", "-DISOTHERM_TESTS=OFF", *options], code)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configure") / "build"
    configure(folder)
    return folder


def test_a_toolkit_that_is_too_old(build, tmp_path):
    """An error if CUDA is requested; otherwise the program is built without CUDA."""
    nvcc = write_script(tmp_path / "nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 12.0, V12.0.140'\n")
    done = configure(build, "-DISOTHERM_CUDA=ON", f"-DCMAKE_CUDA_COMPILER={nvcc}", code=1)
    assert f"isotherm: CUDA 12.0 ({nvcc}) is too old; install 12.5 or later" in message(done.stderr)
    done = configure(build, "-DISOTHERM_CUDA=AUTO", f"-DCMAKE_CUDA_COMPILER={nvcc}")
    assert "The program is built without CUDA" in " ".join(done.stderr.split())


def message(text):
    """The text of a CMake error, whose lines CMake breaks and indents."""
    start = text.index("CMake Error")
    return " ".join(text[start:text.index("Call Stack", start)].split("(message):", 1)[1].split())


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_library_is_named(build, name):
    if name == "CUDAToolkit" and (shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()):
        pytest.skip("a CUDA compiler is here and cannot be hidden")
    done = configure(build, f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON", *HIDDEN_MORE.get(name, []), code=1)
    assert done.stderr.count("CMake Error") == 1
    reason, remedy = message(done.stderr).split(" found; ")
    assert name.removesuffix("Toolkit").lower() in reason.lower() and MISSING[name] in remedy


@pytest.mark.parametrize("variable, value, words", [
    ("ISOTHERM_CUDA", "of", ["AUTO, ON, OFF"]), ("ISOTHERM_HDF5", "yes", ["AUTO, PARALLEL, SERIAL"]),
    ("ISOTHERM_HOST_KERNELS", "AVX2", ["ALL, NATIVE"]),
    ("ISOTHERM_PYTHON", "venv/python3", [f"={os.getcwd()}/venv/python3 is no file"]),
    ("CMAKE_CXX_FLAGS", "-g -ffast-math", ["-ffast-math"]), ("CMAKE_CXX_FLAGS_RELEASE", "-Ofast", ["-Ofast"]),
    ("CMAKE_CUDA_FLAGS", "--use_fast_math", ["--use_fast_math"]),
    ("CMAKE_CUDA_FLAGS_RELEASE", "-Xcompiler=-funsafe-math-optimizations", ["-funsafe-math-optimizations"])])
def test_a_value_that_cannot_be_used_is_named(build, variable, value, words):
    text = message(configure(build, f"-D{variable}={value}", code=1).stderr)
    assert all(word in text for word in [variable, *words]), text


def test_options_are_read_in_any_case(build):
    done = configure(build, "-DISOTHERM_CUDA=False", "-DISOTHERM_HOST_KERNELS=native", "-DISOTHERM_HDF5=auto")
    assert "  CUDA      none" in done.stdout and "  host      NATIVE " in done.stdout


def test_a_preset_is_for_all_processors_even_after_run_sh(build):
    """An option after the preset overrides it, as in run.sh."""
    assert "  host      NATIVE " in configure(build, "--preset", "cpu", "-DISOTHERM_HOST_KERNELS=NATIVE").stdout
    assert "  host      ALL " in output(CMAKE, "-S", TOP, "-B", build, "--preset", "cpu")


@pytest.mark.parametrize("kind", ["PARALLEL", "SERIAL"])
def test_the_requested_kind_of_hdf5_is_used(build, kind):
    """Either kind is used if installed, otherwise it is an error; the other kind is never used."""
    done = configure(build, f"-DISOTHERM_HDF5={kind}", code={0, 1})
    if done.returncode == 0:
        assert re.search(rf"^--   HDF5 .*, {kind.lower()}$", done.stdout, re.MULTILINE)
    else:
        assert message(done.stderr).startswith(f"isotherm: ISOTHERM_HDF5={kind} but only another HDF5 was found; ")


def test_an_hdf5_of_another_mpi(build, tmp_path):
    """Simulated by a library that depends on the MPI library of the other family."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    cache = (build / "CMakeCache.txt").read_text()
    if not compiler or "/openmpi/" not in cache:
        pytest.skip("needs a C compiler, and an Open MPI to differ from")
    (tmp_path / "empty.c").write_text("int other_mpi(void) { return 0; }\n")
    (tmp_path / "user.c").write_text("int other_mpi(void);\nint hdf5(void) { return other_mpi(); }\n")
    other, hdf5 = tmp_path / "libmpich.so.12", tmp_path / "libhdf5.so"
    finished([compiler, "-shared", "-fPIC", f"-Wl,-soname,{other.name}", "-o", other, tmp_path / "empty.c"], 0)
    finished([compiler, "-shared", "-fPIC", "-o", hdf5, tmp_path / "user.c", other], 0)
    done = configure(build, f"-DHDF5_C_LIBRARY_hdf5={hdf5}", code=1)
    assert message(done.stderr).startswith(f"isotherm: HDF5 ({hdf5}) was built for another MPI (it needs libmpich.so.12, and ")


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_a_tree_inside_another_repository_does_not_record_its_revision(tmp_path):
    (tmp_path / "tree").mkdir()
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b"]
    finished([*git, "init", "-q"], 0)
    finished([*git, "commit", "-q", "--allow-empty", "-m", "outer"], 0)
    revision = finished([*git, "rev-parse", "--short=12", "HEAD"], 0).stdout.strip()
    for source, recorded in ((tmp_path, revision), (tmp_path / "tree", "unknown")):
        finished([CMAKE, f"-DSOURCE={source}", f"-DOUTPUT={tmp_path}/info.cpp", "-P", TOP / "cmake" / "WriteBuildInfo.cmake"], 0)
        assert f'"{recorded}"' in (tmp_path / "info.cpp").read_text()


@pytest.fixture
def project(tmp_path):
    """An empty project with our PreLoad.cmake, and folders of commands with Ninja and without."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(TOP / "PreLoad.cmake", folder)
    (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(empty LANGUAGES NONE)\n")
    (folder / "CMakePresets.json").write_text(
        '{"version": 6, "configurePresets": [{"name": "cpu", "binaryDir": "${sourceDir}/build/cpu"}]}')
    for name in ("make", "ninja"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "make").symlink_to("/bin/true")
    write_script(tmp_path / "ninja" / "ninja", "#!/bin/sh\necho 1.11.1\n")
    return folder


MAKEFILES = "Unix Makefiles"


def generator(project, *words, commands="ninja", **environment):
    finished([CMAKE, "--preset", "cpu", *words], 0, cwd=project, env={"PATH": str(project.parent / commands), **environment})
    return re.search(r"^CMAKE_GENERATOR:INTERNAL=(.*)$", (project / "build/cpu/CMakeCache.txt").read_text(), re.MULTILINE)[1]


@pytest.mark.parametrize("first, then", [("ninja", "Ninja"), ("make", MAKEFILES)])
def test_ninja_is_used_if_found_and_otherwise_make(project, first, then):
    """The choice stays the same in that folder, even if Ninja is installed later."""
    assert [generator(project, commands=first), generator(project)] == [then] * 2


@pytest.mark.parametrize("words, environment", [
    (["-G", MAKEFILES], {}), ([f"-G{MAKEFILES}"], {}), ([], {"CMAKE_GENERATOR": MAKEFILES}), (["--preset", "mine"], {})])
def test_a_generator_that_the_user_names_is_used(project, words, environment):
    """On the command line, in the environment, or in the user's presets."""
    (project / "CMakeUserPresets.json").write_text(
        f'{{"version": 6, "configurePresets": [{{"name": "mine", "inherits": "cpu", "generator": "{MAKEFILES}", '
        '"binaryDir": "${sourceDir}/build/cpu"}]}')
    assert generator(project, *words, **environment) == MAKEFILES


@pytest.mark.parametrize("folder, from_program, package", [
    ("lib", "../lib/isotherm", "../../share/isotherm/postprocess"),
    ("/usr/local/a/b", "../a/b/isotherm", "../../../share/isotherm/postprocess")])
def test_program_and_tools_find_each_other_in_any_folder(build, folder, from_program, package):
    """And tools of earlier versions are removed from the build."""
    old = build / "install_tools" / "isotherm-old"
    old.touch()
    configure(build, "-DCMAKE_INSTALL_PREFIX=/usr/local", f"-DCMAKE_INSTALL_LIBEXECDIR={folder}")
    assert re.search(rf'ISOTHERM_TOOL_FOLDER=[^.]*{re.escape(from_program)}\W', (build / "compile_commands.json").read_text())
    assert f'package="$here/{package}"\n' in (build / "install_tools" / "isotherm-study").read_text()
    assert not old.exists()


def output(*command, **options):
    return finished(command, 0, **options).stdout


def test_program_decks_and_tools_are_installed_and_run(prefix, tmp_path):
    assert output(prefix / "bin/isotherm", "--version", cwd=tmp_path).startswith("isotherm ")
    installed, ours = (sorted(path.name for path in folder.iterdir()) for folder in (prefix / "share/isotherm/inputs", TOP / "inputs"))
    assert installed == ours and "quickstart.yaml" in installed
    assert not (prefix / "share/isotherm/postprocess/build").exists()  # of pip
    command = [sys.executable, "-c", "import isotherm_tools.__main__ as cli; print(cli.__file__); cli.parser()"]
    environment = os.environ | {"PYTHONPATH": str(prefix / "share/isotherm/postprocess")}
    assert output(*command, cwd=tmp_path, env=environment).startswith(str(prefix))
    shown = output(prefix / "bin/isotherm", "report", "--help", cwd=tmp_path, env=os.environ | {"PATH": "/usr/bin:/bin"})
    assert shown.startswith("usage: isotherm report ")
    write_deck(tmp_path, BASE_DECK + "parallel: {device: cpu}\nstudy: {list: [{name: a}]}\n")
    assert "1 of 1 case finished" in output(prefix / "bin/isotherm", "study", "deck.yaml", cwd=tmp_path)
    assert "sbatch" in output(prefix / "bin/isotherm", "study", "deck.yaml", "output.directory=other", "--slurm", "--dry-run", cwd=tmp_path)


def test_postprocess_is_a_package_that_needs_no_network(tmp_path):
    """As its documentation says, but into a folder: a virtual environment would take seconds."""
    missing = [module for module in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(module)]
    if missing:
        pytest.skip(f"without {', '.join(missing)}")
    shutil.copytree(TOP / "postprocess", tmp_path / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    output(sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps", "--target", tmp_path / "site",
           tmp_path / "source")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    text = output(tmp_path / "site/bin/isotherm-slice", "--help", cwd=tmp_path, env=environment)
    assert text.startswith("usage: isotherm slice ")


@pytest.mark.skipif(not shutil.which("readelf"), reason="readelf is not installed")
def test_program_loads_nothing_from_the_build(prefix):
    paths = re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", output("readelf", "-d", prefix / "bin/isotherm"))
    assert not [path for line in paths for path in line.split(":") if path.startswith((os.path.dirname(os.environ["ISOTHERM"]), str(TOP)))]
