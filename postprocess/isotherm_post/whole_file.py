"""Files appear whole or not at all."""

import os
from pathlib import Path

from isotherm_post.failure import CANNOT_CREATE, Failure


def write_whole(path, write):
    """`write` gets the name of a file beside `path` that takes its place once it is complete."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Failure(CANNOT_CREATE, f"{path} cannot be written ({error.strerror})") from error


def write_text(path, text):
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
