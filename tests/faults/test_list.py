"""isotherm list --json: what scripts ask this build and machine for."""

import json

from program import DECK, isotherm, write_deck

ROW = {"name", "available", "why_not", "remark", "automatic", "backend"}


def listed():
    done = isotherm("list", "--json", CUDA_VISIBLE_DEVICES="")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_keys():
    """Scripts rely on them: more may come, none may go."""
    record = listed()
    assert set(record) == {"schema", "schema_version", "version", "kernels", "reductions", "histograms", "transports", "devices",
                           "why_no_gpu"}
    assert (record["schema"], record["schema_version"]) == ("isotherm-list", 1)
    assert record["version"] == isotherm("--version").stdout.split()[1]
    for key, keys in (("kernels", ROW | {"max_depth", "policies"}), ("reductions", ROW), ("histograms", ROW),
                      ("transports", ROW - {"backend", "automatic"}), ("devices", {"backend", "index", "name", "uuid", "remark"})):
        assert record[key] and all(set(entry) == keys for entry in record[key]), key
    assert record["devices"][0]["backend"] == "cpu" and record["devices"][0]["index"] is None
    assert len(record["devices"]) == 1 and record["why_no_gpu"]


def test_what_is_available_runs(tmp_path):
    write_deck(tmp_path, DECK)
    record = listed()
    for kernel in record["kernels"]:
        assert set(kernel["policies"]) == {"fp32", "fp64"} and kernel["max_depth"] >= 1
        assert kernel["available"] == (kernel["backend"] == "cpu") == (kernel["why_not"] is None)
        policy = [f"solver.tile={name}" for name in kernel["policies"]["fp64"][:kernel["available"]]]
        done = isotherm("run", "deck.yaml", f"solver.kernel={kernel['name']}", f"output.directory={kernel['name']}", *policy,
                        cwd=tmp_path, CUDA_VISIBLE_DEVICES="")
        assert done.returncode == (0 if kernel["available"] else 69), done.stderr
    assert {t["name"] for t in record["transports"] if t["available"]} >= {"host", "mock"}
    assert all(t["why_not"] for t in record["transports"] if not t["available"])


def test_the_tables_have_the_same_names():
    text = isotherm("list", CUDA_VISIBLE_DEVICES="").stdout
    record = listed()
    for key in ("kernels", "reductions", "histograms", "transports"):
        for entry in record[key]:
            assert f"\n  {entry['name']} " in text and entry["remark"] in text, entry
