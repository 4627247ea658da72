"""isotherm_tools scaling on what the program itself writes, on one, two and four ranks."""

import json

import pytest

from isotherm_tools.cli import main
from isotherm_tools.run_record import RunRecord
from program import isotherm, write_deck

DECK = """
grid: {cells: [24, 20, 16], spacing: 1e-3}
material: {diffusivity: 1e-4}
boundaries: {y_min: {kind: periodic}, y_max: {kind: periodic}, z_min: {kind: temperature, value: 300}}
initial: [{shape: constant, value: 310}]
problem: {kind: transient, steps: 60, check_interval: 20}
solver: {kernel: reference, reduction: reference, halo_width: 1}
output: {snapshots: false}
"""
RANKS = (1, 2, 4)
MACHINE = ["--gpus-per-node", "4", "--intra-bandwidth", "4", "--intra-latency", "3", "--network-bandwidth", "25",
           "--network-latency", "2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """(kind) -> the directories of three runs."""
    folder = tmp_path_factory.mktemp("scaling")
    write_deck(folder, DECK, "plate.yaml")
    found = {}
    for kind, cells in (("strong", {}), ("weak", {2: "[24, 20, 32]", 4: "[24, 40, 32]"})):
        for ranks in RANKS:
            directory = folder / f"{kind}_{ranks}"
            grid = [f"grid.cells={cells[ranks]}"] if ranks in cells else []
            result = isotherm("run", "plate.yaml", f"output.directory={directory}", *grid, ranks=ranks, cwd=folder)
            assert result.returncode == 0, result.stderr
            found.setdefault(kind, []).append(str(directory))
    return found


def test_the_record_is_read(runs):
    for ranks, run in zip(RANKS, runs["strong"]):
        record = RunRecord(run)
        content = json.loads(record.path.read_text())
        assert (record.ranks, record.ranks_a_host, record.cells) == (ranks, ranks, (24, 20, 16))
        assert list(record.parts) == content["decomposition"]["process_grid"]
        assert record.periodic == (False, True, False)
        assert (record.problem, record.kernel, record.fused_norm, record.depth) == ("transient", "reference", False, 1)
        assert (record.sweeps, record.step) == (60, content["performance"]["step_s"])
        assert record.checks == content["residual"]["checks"] > 0
        assert record.value_bytes == 8 and record.rank_cells * ranks == 24 * 20 * 16 and not record.on_gpu


@pytest.mark.parametrize("kind", ["strong", "weak"])
def test_measured_is_what_the_runs_measured_and_predicted_stands_beside_it(runs, tmp_path, capsys, kind):
    path = tmp_path / "scaling.json"
    assert main(["scaling", *runs[kind], *MACHINE, "--ranks", "8,64,512", "--json", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"{kind} scaling of plate: ")
    content = json.loads(path.read_text())
    assert content["kind"] == kind and content["notes"] == []
    assert [row["ranks"] for row in content["rows"]] == [1, 2, 4, 8, 64, 512]
    records = [json.loads(RunRecord(run).path.read_text()) for run in runs[kind]]
    rate = records[0]["performance"]["points_per_s"]
    for row, record in zip(content["rows"], records):
        assert row["measured"]["step_s"] == record["performance"]["step_s"]
        assert row["measured"]["efficiency"] == pytest.approx(
            record["performance"]["points_per_s"] / rate / len(record["ranks"]))
        assert row["cells"] == record["grid"]["cells"]
    # On one rank the model is what was measured; beyond, it only loses.
    first, *others = [row["predicted"] for row in content["rows"]]
    assert first["step_s"] == pytest.approx(records[0]["performance"]["step_s"])
    assert all(0 < row["efficiency"] < 1 for row in others)
    assert all(row["measured"] is None for row in content["rows"][3:])


@pytest.mark.parametrize("kind", ["strong", "weak"])
def test_pictures_are_made(runs, tmp_path, capsys, kind):
    out = tmp_path / "scaling.png"
    assert main(["scaling", *runs[kind], *MACHINE, "--out", str(out)]) == 0
    assert out.stat().st_size > 10000 and capsys.readouterr().out.startswith(f"{kind} scaling of plate: ")
