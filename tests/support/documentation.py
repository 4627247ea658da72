"""Contents of the documentation's pages: code blocks and command lines."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# Subcommands of isotherm_tools, which read files of runs and benchmarks.
SUBCOMMANDS = ("slice", "history", "ladder", "roofline", "time-blocks", "scaling", "report", "study-plot", "animate", "volume")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages(*folders):
    """The Markdown of the checkout, without that of builds and runs."""
    found = [path for folder in folders or (".",) for path in (TOP / folder).rglob("*.md")]
    return sorted(path for path in found if not re.match(r"(build|runs|\.)", path.relative_to(TOP).parts[0]))


def blocks(page, *languages):
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind in languages]


def shell_lines(page):
    """The lines of all shell blocks of a page; continued lines are joined, comments removed."""
    text = "\n".join(blocks(page, "sh")).replace("\\\n", " ")
    lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def ticked(text):
    """Texts in single backticks, outside blocks."""
    return re.findall(r"`([^`]+)`", BLOCK.sub("", text))


def name_of(page):
    return page.relative_to(TOP).as_posix()
