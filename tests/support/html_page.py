"""The page of a report as text, without a browser; the deck of the run that most are of."""

import base64
import re
from html.parser import HTMLParser

DECK = """
grid: {cells: [24, 16, 8], spacing: 1e-3}
material: {conductivity: 20, density: 8000, heat_capacity: 500}
boundaries:
  x_min: {kind: temperature, value: "350 + 1000*y"}
  x_max: {kind: convection, ambient: 290, coefficient: 200}
initial: [{shape: constant, value: 300}, {shape: sphere, centre: [0.012, 0.008, 0.004], radius: 0.004, value: 400}]
problem: {kind: transient, steps: 60, check_interval: 5}
solver: {kernel: reference, reduction: reference, halo_width: 1}
output:
  every_steps: 20
  diagnostics: 5
  slices: [{axis: z, cell: 2, every_steps: 30}]
  probes: {points: [{at: [0.012, 0.008, 0.004], name: centre}], every_steps: 5}
"""


class Page(HTMLParser):
    """Parses a page and checks that tags are closed in order, that it runs no script, that pictures are whole, and that nothing is
    outside of it; has its pictures and text."""

    VOID = {"meta", "link", "img", "source", "wbr"}

    def __init__(self, text):
        super().__init__()
        self.pictures, self.words, self._open = [], [], []
        self._whole = True
        assert "<script" not in text and "url(" not in text
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in self.VOID:
            self._open.append(tag)
        self._whole = tag != "wbr"  # the text after it continues the same word
        if tag == "img":
            self.pictures.append(values)
            kind, content = re.fullmatch(r"data:image/(png|svg\+xml);base64,(.+)", values["src"]).groups()
            assert base64.b64decode(content).startswith(b"\x89PNG" if kind == "png" else b"<?xml")
        assert all(values[key].startswith(("data:", "#")) for key in ("src", "srcset", "href") if key in values), values

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1:] != ["style"]:
            self.words.append(data if self._whole else self.words.pop() + data)
            self._whole = True

    @property
    def text(self):
        return " ".join(self.words)


def report(subject, out, *arguments):
    """The page of a run or a study."""
    from isotherm_tools.__main__ import main

    assert main(["report", str(subject), "--out", str(out), *map(str, arguments)]) == 0
    return Page(out.read_text(encoding="utf-8"))
