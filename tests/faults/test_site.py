"""The documentation site: built with warnings as errors, its reference from the program that is tested."""

import importlib.util
import json
import re
import shutil

import jsonschema
import pytest
import yaml

from documentation import TOP, blocks, name_of, pages
from program import finished, isotherm
from test_fixtures import places
from test_schema import Yaml12

SPECIFICATION = importlib.util.spec_from_file_location("generate", TOP / "docs" / "generate.py")
generate = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(generate)


def properties(schema):
    """Names of all keys in a schema, at any depth."""
    return {path[-1] for path, _ in places(schema) if path[-2:-1] == ("properties",)}


def test_the_site_is_built_without_a_warning(tmp_path):
    if not shutil.which("mkdocs"):
        pytest.skip("mkdocs is not installed (Debian, Ubuntu: apt install mkdocs-material)")
    done = finished(["mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path / "site"], cwd=TOP)
    if "Unrecognised theme name: 'material'" in done.stderr:
        pytest.skip("mkdocs has no theme material (Debian, Ubuntu: apt install mkdocs-material)")
    assert done.returncode == 0, done.stderr
    for page in pages("docs"):
        assert (tmp_path / "site" / page.relative_to(TOP / "docs").with_suffix(".html")).is_file(), page
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="https?://[^"]*"', front) == []  # works from disk, without a network


def test_the_reference_has_every_key_of_decks_and_records():
    deck, record = generate.keys_page(), generate.run_page()
    schema = json.loads(isotherm("schema").stdout)
    keys = {each for name, section in schema["properties"].items() for each in {name, *properties(section)}}
    paths = set(re.findall(r"\w+", " ".join(re.findall(r"^(?:## |\| `)([^` ]+)", deck, re.MULTILINE))))
    others = {"y_min", "y_max", "z_min", "z_max", "x_max",  # like x_min
              "floorplan", "trace", "time", "interpolation"}  # one form of `power`
    assert {each for each in keys if re.fullmatch(r"[a-z_]+", each)} - others - paths == set()
    assert "| `problem.dt` |" in deck and "W/(m K)" in deck and "| `output.probes.points[].at` |" in deck
    assert properties(json.loads(isotherm("schema", "run").stdout)) <= set(re.findall(r"\w+", record))


def test_the_reference_has_every_command_and_exit_code(tmp_path):
    generate.main(str(tmp_path))
    text = (tmp_path / "reference" / "commands.md").read_text(encoding="utf-8")
    for title in ("isotherm run", "isotherm bench halo", "isotherm study", "isotherm report"):
        assert f"\n## {title}\n" in text and (tmp_path / "man1" / f"{title.replace(' ', '-')}.1").is_file()
    assert [code for code, _ in generate.exit_codes()] == "0 2 10 65 66 69 70 71 73 74 75 76".split()


@pytest.mark.parametrize("typed, words", [("isotherm st", {"study", "study-plot"}), ("isotherm run --re", {"--restart"}),
                                          ("isotherm bench ha", {"halo"}), ("isotherm bench halo --gh", {"--ghosts"})])
def test_bash_completes(tmp_path, typed, words):
    (tmp_path / "isotherm.bash").write_text(generate.completion(generate.commands()), encoding="utf-8")
    typed = typed.split()
    script = f"source isotherm.bash; COMP_WORDS=({' '.join(typed)}) COMP_CWORD={len(typed) - 1}; _isotherm; echo ${{COMPREPLY[*]}}"
    assert set(finished(["bash", "-c", script], 0, cwd=tmp_path).stdout.split()) == words


PIECES = [(page, text) for page in pages("docs/guide", "docs/theory") for text in blocks(page, "yaml")]
assert len(PIECES) > 8


@pytest.mark.parametrize("page, text", PIECES, ids=lambda each: name_of(each) if hasattr(each, "parts") else "")
def test_pieces_of_decks_have_the_keys_of_decks(page, text):
    """Sections may be missing."""
    schema = json.loads(isotherm("schema").stdout)
    for demand in ("required", "anyOf", "allOf", "oneOf"):
        schema.pop(demand, None)
    jsonschema.validate(yaml.load(text, Yaml12), schema)


def test_links_become_those_of_the_site():
    page = type("Page", (), {"file": type("File", (), {"src_path": "developer/architecture.md"})})
    files = [type("File", (), {"src_path": path}) for path in ("developer/halos.md", "start.md", "source/run.sh.md")]
    shown = generate.on_page_markdown("[a](docs/developer/halos.md) [b](docs/start.md#x) [c](run.sh) [d](inputs) `[e](no.md)` [f](no.md)",
                                      page, None, files)
    assert shown == "[a](halos.md) [b](../start.md#x) [c](../source/run.sh.md) d (`inputs`) `[e](no.md)` [f](no.md)"
