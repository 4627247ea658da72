"""What mkdocs calls (hooks of mkdocs.yml). Makes the pages of the reference by asking the program, and shows files of the
checkout that are no pages of docs/ on the site: ARCHITECTURE.md and others, and sources that pages link to. Links from page to
page are rewritten to where the pages are; a link to a folder becomes its text.

The program: $ISOTHERM, else the newest build/*/isotherm. `python3 docs/generate.py FOLDER` writes the pages, the man pages
and the completion of bash into a folder, without mkdocs."""

import functools
import json
import os
import posixpath
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
SHOWN = {"ARCHITECTURE.md": "developer/architecture.md", "CONTRIBUTING.md": "developer/contributing.md",
         "CHANGELOG.md": "developer/changelog.md"}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
SOURCES = {".cu": "cuda", ".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".yaml": "yaml", ".json": "json", ".csv": "text",
           ".sbatch": "bash", ".sh": "bash", ".def": "bash"}
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def program():
    named = os.environ.get("ISOTHERM")
    built = sorted(TOP.glob("build/*/isotherm"), key=lambda path: path.stat().st_mtime)
    if not named and not built:
        raise SystemExit("docs/generate.py: no program to ask; build isotherm, or name it in ISOTHERM")
    return named or str(built[-1])


@functools.cache
def ask(*words):
    """What the program prints; 80 columns of a terminal are few for options."""
    done = subprocess.run([program(), *words], capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"})
    if done.returncode != 0:
        raise SystemExit(f"docs/generate.py: isotherm {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


# Keys of the deck, from the commented deck that `isotherm init` prints


class Key:
    def __init__(self, path, meaning, value, example):
        self.path, self.meaning, self.example = path, meaning, example
        parts = value.split("; ")
        self.default = re.sub("^default ", "", parts[-1]) if value else ""
        self.value = "; ".join(parts[:-1])
        absent = re.search(r" \[(default .*|required)\]$", meaning)  # of a section
        if absent:
            self.meaning, self.default = meaning[:absent.start()], absent[1].removeprefix("default ")


def keys_of(text):
    """Of each key its path, with [] for the entries of a list. Comments say what the key below them means, and what it takes; a key
    behind a # in the first column is one that keeps its default."""
    found, stack, comment = [], [], []
    for line in text.splitlines():
        if said := re.match(r"^ *# (?! )(.*)", line) or re.match(r"^ *#(   .*)", line) if not line.startswith("#  ") else None:
            comment.append(said[1])
            continue
        key = re.match(r"^#?( *)(- )?([A-Za-z_]+):(?: (.*))?$", line)
        if not key:
            comment = comment if line.strip() else []
            continue
        indent = len(key[1]) + len(key[2] or "")
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if key[2] and stack:
            stack[-1] = (*stack[-1][:2], True)
        path = "".join(f"{each[1]}{'[]' if each[2] else ''}." for each in stack) + key[3]
        if comment:
            value = "".join(each.strip() for each in comment if each.startswith("   "))
            found.append(Key(path, " ".join(each for each in comment if not each.startswith("   ")), value, key[4] or ""))
        stack.append((indent, key[3], False))
        comment = []
    return found


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def keys_page():
    lines = ["# Keys of the deck", "", "SI units, kelvin. `isotherm init` prints this table as a commented deck. "
             "`[]` stands for the entries of a list, `NAME` for a name of your own. Every key can be overridden on the command line: "
             "`problem.dt=0.5`, `boundaries.z_max.0.value=2e5`."]
    for key in keys_of(ask("init")):
        section = "." not in key.path
        if section:
            lines += ["", f"## {key.path}", "", key.meaning + (f" Default: {key.default}." if key.default else "")]
            if key.value:
                lines += ["", f"{key.value}."]
            continue
        if lines[-1] == "" or not lines[-1].startswith("|"):
            lines += ["", "| key | meaning | value | default |", "| --- | --- | --- | --- |"]
        example = f" Example: `{key.example.replace('|', chr(92) + '|')}`" if key.example and key.default in ("", "none", "required") else ""
        lines.append(f"| `{key.path}` | {cell(key.meaning)}{example} | {cell(key.value)} | {cell(key.default)} |")
    return "\n".join(lines) + "\n"


# Commands, from their help


def commands():
    """(words, help) of each command, those of `bench` too, the program's own first."""
    own = ask("--help")
    listed = lambda text: re.findall(r"^  ([a-z]+) ", text.split("Subcommands:\n", 1)[1].split("\n\n")[0], re.MULTILINE)
    tools = re.findall(r"[a-z-]+", re.search(r"^Tools: (.*?) \(", own, re.MULTILINE | re.DOTALL)[1]) if "Tools: " in own else []
    found = [((), own)]
    for name in [*listed(own), *tools]:
        text = ask(name, "--help")
        found.append(((name,), text))
        if "Subcommands:\n" in text:
            found += [((name, each), ask(name, each, "--help")) for each in listed(text)]
    return found


def exit_codes():
    text = " ".join(re.search(r"^Exit codes: (.*?)\.\s*$", ask("--help"), re.MULTILINE | re.DOTALL)[1].split())
    return [each.split(" ", 1) for each in text.split("; ")]


def commands_page():
    lines = ["# Commands", "", "What `--help` prints. Tools in Python (`study`, `report`, ...) are commands of their own, too: `isotherm-report`.",
             "", "## Exit codes", "", "| code | meaning |", "| --- | --- |"]
    lines += [f"| {code} | {meaning} |" for code, meaning in exit_codes()]
    for words, text in commands():
        lines += ["", f"## isotherm {' '.join(words)}".rstrip(), "", "```text", text.strip("\n"), "```"]
    return "\n".join(lines) + "\n"


def kernels_page():
    listed = json.loads(ask("list", "--json"))
    lines = ["# Kernels and transports", "", "What `isotherm list` names; it also says what this machine can run, and the tiles. "
             "The [lectures](../lectures/index.md) explain them."]
    for key, title in (("kernels", "Stencils: `solver.kernel`"), ("reductions", "Reductions: `solver.reduction`"),
                       ("histograms", "Histograms: `solver.histogram`"), ("transports", "Transports: `parallel.transport`")):
        several = any("backend" in each for each in listed[key])
        lines += ["", f"## {title}", "", "| name | where | purpose | description |" if several else "| name | description |",
                  "| --- | --- | --- | --- |" if several else "| --- | --- |"]
        lines += [f"| `{each['name']}` | " + (f"{each['backend']} | {each['purpose']} | " if several else "") + f"{cell(each['description'])} |"
                  for each in listed[key]]
    return "\n".join(lines) + "\n"


def kind_of(schema):
    if "anyOf" in schema:
        return " or ".join(filter(None, map(kind_of, schema["anyOf"])))
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    kind = schema.get("type", str(schema.get("const", "")))
    return " or ".join(kind) if isinstance(kind, list) else kind


def record_rows(schema, path=""):
    """(path, type, meaning) of all keys below a schema; [] stands for the entries of a list, NAME for names that differ."""
    for name, each in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, kind_of(each), each.get("description", "")
        yield from record_rows(each, here)
    for each in schema.get("anyOf", []):
        yield from record_rows(each, path)
    for inner, added in (("items", "[]"), ("additionalProperties", ".NAME")):
        if isinstance(schema.get(inner), dict):
            yield from record_rows(schema[inner], path + added)


def run_page():
    schema = json.loads(ask("schema", "run"))
    lines = ["# run.json", "", f"{schema['description']} `isotherm schema run` prints the JSON Schema.", "",
             "| key | type | meaning |", "| --- | --- | --- |"]
    lines += [f"| `{path}` | {cell(kind)} | {cell(text)} |" for path, kind, text in record_rows(schema)]
    return "\n".join(lines) + "\n"


GENERATED = {"reference/keys.md": keys_page, "reference/commands.md": commands_page, "reference/kernels.md": kernels_page,
             "reference/run.md": run_page}


# Man pages and completion, from the same help


def man_page(words, text):
    escaped = text.replace("\\", "\\e").replace("\n.", "\n\\&.").replace("\n'", "\n\\&'").replace("-", "\\-")
    name = "-".join(("isotherm", *words))
    title = text.strip().splitlines()[0].replace("-", "\\-")
    return f'.TH "{name.upper()}" 1\n.SH NAME\n{name} \\- {title}\n.SH DESCRIPTION\n.nf\n{escaped.strip(chr(10))}\n.fi\n'


def completion(found):
    """For bash: subcommands, options, then files."""
    cases = []
    for words, text in found:
        below = [each[len(words)] for each, _ in found if len(each) == len(words) + 1 and each[:len(words)] == words]
        options = sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)))
        cases.append(f'    "{" ".join(words)}") words="{" ".join(below + options)}" ;;')
    return "\n".join(["# Completion of isotherm for bash: source this file, or put it into bash_completion.d.", "_isotherm() {",
                      "  local words='' name=''", "  if ((COMP_CWORD > 1)); then name=${COMP_WORDS[1]}; fi",
                      '  if [[ $name == bench ]] && ((COMP_CWORD > 2)); then name="bench ${COMP_WORDS[2]}"; fi',
                      "  case $name in", *cases, "  esac",
                      '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"; compgen -f -- "${COMP_WORDS[COMP_CWORD]}")',
                      "}", "complete -o filenames -F _isotherm isotherm", ""])


# What mkdocs calls


def target_of(page, link):
    """Of a link, the file of the checkout; `page` by its path on the site."""
    source = next((source for source, path in SHOWN.items() if path == page), f"docs/{page}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def source_pages(texts):
    """Of each file of code that a page links to, a page with it."""
    pages = {}
    for page, text in texts.items():
        for source in {target_of(page, link[1]) for link in LINK.findall(CODE.sub("", text))}:
            kind = SOURCES.get(posixpath.splitext(source)[1])
            if kind and (TOP / source).is_file():
                code = (TOP / source).read_text(encoding="utf-8")
                pages[f"source/{source}.md"] = f"---\nsearch: {{exclude: true}}\nhide: [toc]\n---\n# {source}\n\n````{kind}\n{code}````\n"
    return pages


def on_files(files, config):
    from mkdocs.structure.files import File

    folder = tempfile.TemporaryDirectory(prefix="isotherm-pages-")
    config["isotherm_pages"] = folder  # as long as the build
    texts = {path: page() for path, page in GENERATED.items()}
    texts |= {path: (TOP / source).read_text(encoding="utf-8") for source, path in SHOWN.items()}
    own = {each.src_path: Path(each.abs_src_path).read_text(encoding="utf-8") for each in files if each.is_documentation_page()}
    texts |= source_pages(own | texts)
    for path, text in texts.items():
        there = Path(folder.name) / path
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(text, encoding="utf-8")
        files.append(File(path, folder.name, config["site_dir"], config["use_directory_urls"]))
    for each in [each for each in files if each.src_path.endswith(".py") or "__pycache__" in each.src_path]:
        files.remove(each)
    return files


def on_page_markdown(markdown, page, config, files):
    own = page.file.src_path
    known = {each.src_path for each in files}
    if own.startswith("source/"):
        return markdown

    def rewritten(link):
        label, target, anchor = link[1], link[2], link[3] or ""
        source = target_of(own, target)
        there = SHOWN.get(source, source[len("docs/"):] if source.startswith("docs/") else f"source/{source}.md")
        if there in known:
            return f"{label}({posixpath.relpath(there, posixpath.dirname(own) or '.')}{anchor})"
        if not (TOP / source).exists():
            return link[0]  # which mkdocs refuses
        return label[1:-1] if label[1:-1].strip("`") == source else f"{label[1:-1]} (`{source}`)"

    return "".join(part if at % 2 else LINK.sub(rewritten, part) for at, part in enumerate(CODE.split(markdown)))


def main(folder):
    for path, page in GENERATED.items():
        (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / path).write_text(page(), encoding="utf-8")
    found = commands()
    (Path(folder) / "man1").mkdir(exist_ok=True)
    for words, text in found:
        (Path(folder) / "man1" / ("-".join(("isotherm", *words)) + ".1")).write_text(man_page(words, text), encoding="utf-8")
    (Path(folder) / "isotherm.bash").write_text(completion(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
