from ramble.appkit import *


class Isotherm(ExecutableApplication):
    """Heat diffusion on a 3-D box, on CPUs and CUDA GPUs: cell updates per second, and one answer on any ranks.

    Without a package manager, set isotherm_path to the prefix that isotherm is installed in, and have its bin on PATH.
    """

    name = "isotherm"

    tags("heat", "diffusion", "stencil", "structured-grid", "mini-app", "gpu")

    with when("package_manager_family=spack"):
        software_spec("isotherm", pkg_spec="isotherm@main")
        required_package("isotherm")

    executable(
        "load_rule",
        "isotherm=isotherm; source {decks}/weak_cells.sh",
        use_mpi=False,
    )
    executable(
        "run",
        "isotherm run {decks}/{deck} parallel.device={device} solver.kernel={kernel} "
        "output.directory={experiment_run_dir}/run output.overwrite=true {size} {overrides}",
        use_mpi=True,
        output_capture=OUTPUT_CAPTURE.ALL,
    )

    workload("strong", executables=["run"])
    workload("weak", executables=["load_rule", "run"])

    workload_variable(
        "decks",
        default="{isotherm_path}/share/isotherm/inputs/scaling",
        description="Folder of the decks",
        workloads=["strong", "weak"],
    )
    workload_variable(
        "deck",
        default="strong_512.yaml",
        description="Keeps its grid: strong_512.yaml, strong_1024.yaml, strong_cpu.yaml",
        workloads=["strong"],
    )
    workload_variable(
        "deck",
        default="weak_512.yaml",
        description="Has its grid for each rank: weak_512.yaml, weak_1024.yaml, weak_cpu.yaml",
        workloads=["weak"],
    )
    workload_variable(
        "size",
        default="",
        description="Another grid: grid.cells=256",
        workloads=["strong"],
    )
    workload_variable(
        "size",
        default="grid.cells=$(weak_cells {decks}/{deck} {n_ranks})",
        description="The grid of all ranks, by the rule of the job scripts beside the decks",
        workloads=["weak"],
    )
    workload_variable(
        "device",
        default="auto",
        description="Where to compute",
        values=["auto", "cpu", "cuda"],
        workloads=["strong", "weak"],
    )
    workload_variable(
        "kernel",
        default="auto",
        description="The stencil kernel: auto, or a name that isotherm list prints",
        workloads=["strong", "weak"],
    )
    workload_variable(
        "overrides",
        default="",
        description="key=value of any key of the deck",
        workloads=["strong", "weak"],
    )

    # Not each run has all of them: one rank hides no exchange, and who writes no snapshot has no speed of writing.
    for figure, unit in [
        ("cell_updates", "GLUP/s"),
        ("effective_bandwidth", "GB/s"),
        ("copy_bandwidth_share", "%"),
        ("time_per_step", "ms"),
        ("halo_fraction", "%"),
        ("halo_hidden", "%"),
        ("write_bandwidth", "GB/s"),
        ("write_hidden", "%"),
    ]:
        figure_of_merit(
            figure,
            fom_regex=rf"FOM {figure}: (?P<value>[0-9]+\.[0-9]+) {unit}",
            group_name="value",
            units=unit,
        )

    figure_of_merit(
        "process_grid",
        fom_regex=r"  ranks .* process grid (?P<grid>[0-9]+ x [0-9]+ x [0-9]+),",
        group_name="grid",
    )
    figure_of_merit(
        "swept_by",
        fom_regex=r"  kernel +(?P<kernel>.+?), halo width ",
        group_name="kernel",
    )
    # Of a strong series all are the same: one problem has one answer on any number of ranks.
    figure_of_merit(
        "fingerprint",
        fom_regex=r"  fingerprint +(?P<fingerprint>[0-9a-f]+)",
        group_name="fingerprint",
    )

    success_criteria("passed", mode="string", match=r"RESULT: (DONE|CONVERGED|VERIFIED)")
