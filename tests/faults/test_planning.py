"""`isotherm check` for other machines: missing GPUs, more ranks than can be listed. The memory that it prints is what a run uses, and a
run that does not fit is rejected before any file is created."""

import json
import os
import re

import pytest

from program import GATHERED, command, expect_rejected, finished, isotherm, measured, ran, write_deck

BLIND = {"CUDA_VISIBLE_DEVICES": ""}
CUDA = "parallel.device=gpu"  # another word for cuda


def check(folder, *words, code=0, **where):
    done = ran("check", "deck.yaml", *words, cwd=folder, **BLIND, **where, code=code)
    assert os.listdir(folder) == ["deck.yaml"]
    return done


def test_a_host_without_gpus_plans_for_them(folder):
    out = check(folder, "--ranks", 8, CUDA, "--resolved").stdout
    assert "\n  device: cuda\n" in out
    assert re.search(r"^process grid    \d x \d x \d \(8 ranks\)", out, re.MULTILINE)
    assert re.search(r"^placement       a GPU for each rank, on other hosts \(here: no CUDA device \(.+\)\); their memory and speed are "
                     r"not known here$", out, re.MULTILINE)
    assert re.search(r" of device memory per rank.*, of a GPU that is not here: --gpu-memory 80GiB says what one has$", out, re.MULTILINE)
    assert "  the memory of norms is not known here\n" in out and "partial results of norms" not in out
    assert re.search(r"^  fields, ghosts, sources +\S+ \S+  device$", out, re.MULTILINE)
    assert re.search(r"^sweeps          about \S+ \w+, at a copy bandwidth of 4200\.0 GB/s for each GPU$", out, re.MULTILINE)


@pytest.mark.parametrize("words", [(), ("solver.halo_width=2", "--ranks", 2), ("precision=fp32",), ("parallel.transport=nccl", "--ranks", 2),
                                   ("boundaries={x_min: periodic, x_max: periodic}", "problem.steps=100000000")])
def test_a_plan_for_gpus_works_with_other_settings(folder, words):
    assert "a GPU for each rank, on other hosts" in check(folder, CUDA, *words).stdout


@pytest.mark.parametrize("times, said", [("0.3", "0.3"), ("6.543", "6.54"), ("1234.2", "1234")])
def test_long_steps_are_compared_with_the_limit(folder, times, said):
    limit, = re.findall(r"the stable limit (\S+) s", check(folder).stdout)
    dt = f"problem.dt={float(limit) * float(times)}"
    assert f" sweeps per step, {said} times the stable limit " in check(folder, "problem.method=implicit", dt).stdout


@pytest.mark.parametrize("values, note", [
    (["value: 1"], "$"), (["power: 1+t"], ", at the start$"), (["power: 1+t", "value: 1"], " .* counts its own")])
def test_cells_that_several_sources_heat_may_count_for_each(folder, values, note):
    words = "material.conductivity=1", f"sources=[{', '.join(f'{{shape: constant, {value}}}' for value in values)}]", "problem.steps=1"
    for done in check(folder, *words), ran("run", "deck.yaml", *words, cwd=folder):
        assert re.search(rf"^ *sources .* cells{note}", done.stdout, re.MULTILINE)
        assert re.search(r"\), 1 step\b", done.stdout)


@pytest.mark.parametrize("every, of_probes", [(33.333, 25), (12.5, 33.333), (33.333, 33.333)])
def test_times_of_outputs_that_multiply_long_steps_are_warned_of(folder, every, of_probes):
    """The warning names a time step that helps; many outputs need as many steps."""
    def planned(every, of_probes, *more):
        out = check(folder, "problem={method: implicit, end_time: 100}", "output.probes.points=[[0.5, 0.5, 0.5]]",
                    f"output.every_time={every}", f"output.probes.every_time={of_probes}", *more).stdout
        return out, int(re.search(r" (\d+) steps to 100 s", out)[1])

    out, steps = planned(every, of_probes)
    dt, = re.search(rf"warning: .*: output.*every_time: .* {steps} steps .* problem.dt: ([^\s,]+)", out).groups()
    assert steps == 100000
    for words, most in ((25, 12.5), 40), ((every, of_probes, f"problem.dt={dt}"), 40), ((20, 0.1), 1000):
        out, steps = planned(*words)
        assert "warning" not in out and steps <= most, words


@pytest.mark.parametrize("problem, unit", [
    ("{steps: 20, method: rkl, dt: 0.05}", "steps"), ("{kind: steady}", "cycles"), ("{kind: steady, method: jacobi}", "sweeps")])
def test_intervals_of_checkpoints_are_in_the_unit_of_the_deck(folder, problem, unit):
    held = "boundaries.x_min={kind: temperature, value: 300}"
    out = check(folder, held, f"problem={problem}", "output.checkpoint.every_steps=5").stdout
    assert f"checkpoints     every 5 {unit}, " in out


@pytest.mark.parametrize("problem, said", [
    *((f"steps: 2, dt: 0.05, method: {method}{more}", said) for method in ("implicit", "rkl")
      for more, said in (("", "about"), (", tolerance: 0.1", "at least about"))),  # which may divide steps
    ("kind: steady, method: jacobi, tolerance: 1e-6", "about"), ("kind: steady, method: jacobi, error: 0.001", "at most")])
def test_the_prediction_is_a_bound_if_only_a_bound_on_sweeps_is_known(folder, problem, said):
    words = "boundaries.x_min={kind: temperature, value: 300}", f"problem={{{problem}}}", "output.directory=out"
    assert re.search(rf"^sweeps +{said} ", check(folder, *words).stdout, re.MULTILINE)
    request = json.dumps({"requests": [{"plan": True}]})
    done = finished(command("check", "--json", "deck.yaml", *words), 0, cwd=folder, input=request)
    assert json.loads(done.stdout)["answers"][0]["plan"]["may_divide_steps"] == ("at least" in said)
    assert re.search(f"^  predicted    {said} ", ran("run", "deck.yaml", *words, cwd=folder).stdout, re.MULTILINE)


def test_multigrid_gets_the_layers_that_it_needs(tmp_path):
    write_deck(tmp_path, """\
grid: {cells: [8, 7, 1], lengths: [0.008, 0.05, 0.001]}
materials: {a: {conductivity: 10}, b: {conductivity: 100}}
material: {default: a}
regions: [{shape: box, material: b, from: [0, 0, 0], to: [0.004, 0.05, 0.001]}]
boundaries: {y_min: {kind: temperature, value: 300}}
initial: [{shape: constant, value: 310}]
problem: {kind: steady}
""")
    along_y = "--ranks", 4, "parallel.process_grid=[1,4,1]"
    one = "regions=[]", "materials=", "material={conductivity: 10}"
    assert check(tmp_path, "--ranks", 4).stdout.startswith("process grid    2 x 2 x 1 ")
    err = check(tmp_path, *along_y, code=65).stderr
    assert "problem.method: multigrid of several materials needs two layers of cells for each rank, and axis y has 7 cells" in err
    assert check(tmp_path, *along_y, "problem.method=chebyshev").stdout.startswith("process grid    1 x 4 x 1 ")
    assert "needs a halo of 3 layers on the process grid 1 x 4 x 1 and has 1; use fewer" in check(
        tmp_path, *along_y, *one, "grid.lengths=[0.008, 0.007, 0.001]", code=65).stderr
    assert check(tmp_path, "--ranks", 3, *one, "grid={cells: [7, 5, 3], spacing: 0.01}").stdout.startswith("process grid    3 x 1 x 1 ")
    assert "solver.halo_width: multigrid needs a halo of 2 layers" in check(
        tmp_path, "--ranks", 2, *one, "grid={cells: 9, spacing: 0.01}", "solver.halo_width=1", code=65).stderr


def test_the_memory_of_a_planned_gpu_decides(folder):
    """Two fields of 1024^3 cells are 16 GiB in fp64; --gpu-memory describes GPUs, whether the deck requests them or not."""
    large = "grid.cells=1024"
    for words in ((CUDA,), ()):
        out = check(folder, large, *words, "--gpu-memory", "80GiB").stdout
        assert re.search(r"^ +16\.\d+ GiB of device memory per rank.*, of 80\.00 GiB \(--gpu-memory\)$", out, re.MULTILINE)
        err = check(folder, large, *words, "--gpu-memory", "16 GB", code=71).stderr
        assert re.match(r"a rank needs 16\.\d+ GiB of device memory and --gpu-memory gives it 14\.90 GiB; ", err)
        check(folder, large, *words, "--gpu-memory", "16GB", "--ranks", 2)
    err = check(folder, "parallel.device=cpu", "--gpu-memory", "80GiB", code=2).stderr
    assert err.startswith("--gpu-memory is of GPUs, and the deck computes on the CPU; ")


def test_the_ranks_of_a_job_are_queried_and_not_planned(folder):
    assert check(folder, CUDA, ranks=2, code=69).stderr.startswith("argument 3: parallel.device: no CUDA device (")
    check(folder, CUDA, "--ranks", 4, ranks=2)
    ran("run", "deck.yaml", CUDA, cwd=folder, **BLIND, code=69)
    assert os.listdir(folder) == ["deck.yaml"]


def test_many_ranks_are_a_summary(folder):
    """16 ranks are listed; more only on request."""
    def ranks(*words):
        out = check(folder, "grid.cells=100", "parallel.device=cpu", *words).stdout
        assert out.splitlines()[0].startswith("process grid")
        return out, [int(n) for n in re.findall(r"^  rank (\d+) +cells ", out, re.MULTILINE)]

    assert ranks("--ranks", 16)[1] == list(range(16))
    out, listed = ranks("--ranks", 1000)
    assert listed == [] and re.search(r"^process grid    \d+ x \d+ x \d+ \(1000 ranks\), 1000 cells per rank$", out, re.MULTILINE)
    assert "  their cells and neighbours: --ranks-table\n" in out and out.count("\n") < 25
    assert ranks("--ranks", 1000, "--ranks-table")[1] == list(range(1000))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_estimate_of_a_process_grid_is_the_sum_of_its_parts(folder, device):
    """It costs no more than the next best one."""
    said, = re.findall(r"^  by estimate +(.+)$", check(folder, "grid.cells=100", f"parallel.device={device}", "--ranks", 6).stdout, re.MULTILINE)
    unit = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    total, *parts, next_best = (float(number) * unit[name] for number, name in re.findall(r"(\d[\d.]*) ([mun]s)", said))
    assert len(parts) == 4 and sum(parts) == pytest.approx(total, rel=0.02) and total <= next_best, said


def mebibytes(line, words):
    value, unit = line[words:].split()[:2]
    return float(value) * {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}[unit]


@pytest.mark.parametrize("subcommand", ["check", "run"])
def test_a_grid_that_does_not_fit(folder, subcommand):
    """8000^3 cells: more than 2^31, and 11.2 TiB in two fields, norms and asynchronous writes."""
    result = measured(subcommand, "deck.yaml", "grid.cells=8000", cwd=folder)
    assert result.returncode == 71, "this machine has 8 TiB?" + result.stderr
    first, *table = result.stderr.splitlines()
    assert first.startswith("the ranks of host ") and " need 11.20 TiB of memory and " in first and first.endswith(" Rank 0 needs:")
    assert [line[:28].rstrip() for line in table if line] == [
        "  fields, ghosts, sources", "  packed halos", "  partial results of norms", "  queues of temporal sweeps", "  a file being written",
        "  copies (asynchronous)", "  program and libraries"]
    assert " TiB  host" in table[0]
    assert os.listdir(folder) == ["deck.yaml"]
    assert result.megabytes < 100


@pytest.mark.parametrize("subcommand", ["check", "run"])
@pytest.mark.parametrize("cells, line", [
    ("1048576", "a subdomain of 1048576 x 1048576 x 1048576 cells has more bytes than 64 bits can count"),
    ("2000000", "grid of 2000000x2000000x2000000 cells is too large (their number passes 2^61); use fewer cells"),
    ("[8, 8, 2200000000]", "argument 3: grid.cells: 2200000000 cells along an axis are more than 2147483647; use fewer"),
    ("1e7", "argument 3: grid.cells: 10000000 x 10000000 x 10000000 cells are too many to count"),
    ("[1e12, 1e12, 1]", "argument 3: grid.cells: 1000000000000 x 1000000000000 x 1 cells are too many to count")])
def test_a_grid_that_cannot_be_counted(folder, subcommand, cells, line):
    expect_rejected(folder, isotherm(subcommand, "deck.yaml", f"grid.cells={cells}", cwd=folder), 65, line)


def test_the_memory_of_all_cells_is_planned_where_rank_0_writes_for_all(folder):
    words = "grid.cells=160", "problem.steps=2", "solver.tuning_budget=0", "output.directory=out"
    ran("run", "deck.yaml", *words, cwd=folder, ranks=2, **GATHERED)
    memory = json.loads((folder / "out" / "run.json").read_text())["memory"]
    assert 0.8 * memory["estimate_bytes"] < memory["host_peak_bytes"] < 1.1 * memory["estimate_bytes"]


@pytest.mark.parametrize("kernel", ["auto", "temporal_openmp"])
@pytest.mark.parametrize("precision, bytes_a_cell", [("fp64", 8), ("fp32", 4)])
def test_a_run_uses_the_memory_that_check_predicts(folder, precision, bytes_a_cell, kernel):
    """Includes the queues of a temporal kernel: a tenth of the fields on two threads, as much as the fields on many."""
    overrides = ["grid.cells=192", f"precision={precision}", "problem.steps=2", f"solver.kernel={kernel}", "output.directory=out"]
    said = ran("check", "deck.yaml", *overrides, cwd=folder).stdout.splitlines()
    total = mebibytes(next(line for line in said if line.startswith("memory")), 6)
    table = {line[2:28].strip(): mebibytes(line, 28) for line in said
             if line.endswith("  host") and " B  " not in line}
    fields = table["fields, ghosts, sources"]
    two = 2 * 192**3 * bytes_a_cell / 2**20
    assert two < fields < 1.25 * two
    queues = table.get("queues of temporal sweeps", 0)
    assert queues > 0.5  # auto may choose the temporal kernel
    held = fields + table["partial results of norms"] + queues + table["a file being written"] + table["copies (asynchronous)"]
    largest = max(held, table.get("bandwidth, before fields", 0))
    assert total == pytest.approx(largest + table["program and libraries"], abs=0.05)

    assert re.match(r"sweeps          about \S+ m?s, at the copy bandwidth of \S+ GB/s measured here$", said[-1])

    done = measured("run", "deck.yaml", *overrides, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^  predicted    about \S+ m?s for the sweeps$", done.stdout, re.MULTILINE)
    record = json.loads((folder / "out" / "run.json").read_text())
    # 2 sweeps at the copy bandwidth; a launch may do both in one pass.
    least = 2 * 2 * bytes_a_cell * 192**3 / record["performance"]["copy_bandwidth_bytes_per_s"]
    assert 0.5 * least < record["performance"]["predicted_sweeps_s"] < 1.01 * least
    memory = record["memory"]
    peak = memory["host_peak_bytes"] / 2**20
    assert peak == pytest.approx(memory["estimate_bytes"] / 2**20, rel=0.1)
    assert peak == pytest.approx(total, rel=0.1)
    assert done.megabytes == pytest.approx(peak, rel=0.02)
