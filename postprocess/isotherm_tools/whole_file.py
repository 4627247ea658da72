"""Files appear whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from isotherm_tools.failure import CANNOT_CREATE, Failure


def write_whole(path, write):
    """`write` gets the name of a file beside `path` that takes its place once it is complete."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        write(part)
        os.replace(part, path)
    except OSError as error:
        raise Failure(CANNOT_CREATE, f"{path} cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):  # there is none, mostly because it has its name
            part.unlink()


def write_text(path, text):
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
