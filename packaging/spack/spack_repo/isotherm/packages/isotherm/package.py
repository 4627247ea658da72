import pathlib

from spack_repo.builtin.build_systems.cmake import CMakeBuilder, CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *

# The one that this file lies in is what Spack clones.
CHECKOUT = pathlib.Path(__file__).resolve().parents[6]


class Isotherm(CMakePackage, CudaPackage):
    """Heat diffusion on a 3-D box, from a laptop to many GPUs: a YAML deck in, HDF5 snapshots out. A mini-app with a
    ladder of stencil and reduction kernels, and the same bits on any of them, any device and any number of ranks."""

    git = CHECKOUT.as_uri()
    homepage = git

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("nccl", default=True, when="+cuda", description="Halos by NCCL, too")
    variant("postprocess", default=False, description="What isotherm_tools, the Python package, needs")

    depends_on("c", type="build")  # CMake looks for HDF5 by it
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("git", type="build")  # the revision stands in every record

    depends_on("mpi@3:")
    depends_on("hdf5+mpi")
    depends_on("yaml-cpp")
    depends_on("cli11")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("pegtl")
    depends_on("xxhash")
    depends_on("cuda@12.5:", when="+cuda")
    depends_on("nccl@2.13:", when="+nccl")

    with default_args(type="run", when="+postprocess"):
        depends_on("python@3.9:")
        depends_on("py-numpy")
        depends_on("py-h5py")
        depends_on("py-matplotlib@3.6:")
        depends_on("py-pillow@9.1:")

    with default_args(type="test"):
        depends_on("googletest")
        depends_on("python@3.9:")
        depends_on("py-pytest")
        depends_on("py-numpy")
        depends_on("py-h5py")
        depends_on("py-matplotlib@3.6:")
        depends_on("py-jsonschema")
        depends_on("py-pyyaml")

    sanity_check_is_file = ["bin/isotherm"]
    sanity_check_is_dir = ["share/isotherm/inputs", "share/isotherm/postprocess"]

    def cmake_args(self):
        return [
            self.define_from_variant("ISOTHERM_CUDA", "cuda"),
            CMakeBuilder.define_cuda_architectures(self),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_NCCL", not self.spec.satisfies("+nccl")),
            self.define("ISOTHERM_HDF5", "PARALLEL"),
            self.define("ISOTHERM_TESTS", self.run_tests),
        ]

    def check(self):
        """All but what takes minutes, or needs ParaView, a Slurm or a GPU."""
        ctest = Executable(join_path(self.spec["cmake"].prefix.bin, "ctest"))
        with working_dir(self.builder.build_directory):
            ctest("--output-on-failure", "--label-exclude", "slow|gpu", "--parallel", str(make_jobs))

    def setup_run_environment(self, env):
        if self.spec.satisfies("+postprocess"):
            env.prepend_path("PYTHONPATH", join_path(self.prefix.share.isotherm, "postprocess"))

    def test_verification(self):
        """what is computed is what the exact solution says"""
        isotherm = which(self.prefix.bin.isotherm)
        deck = join_path(self.prefix.share.isotherm.inputs, "decaying_mode.yaml")
        out = isotherm("run", deck, "parallel.device=cpu", output=str.split, error=str.split)
        assert "RESULT: VERIFIED" in out
