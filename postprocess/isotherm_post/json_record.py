"""JSON that the program wrote: a schema by name, and its version."""

import json

from isotherm_post.failure import DATA, FILE_MISSING, Failure

VERSION = 1


def read_record(path, schema, noun, hint):
    """The object in the file. `noun`: what it is to the user; `hint`: how to get one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Failure(FILE_MISSING, f"{path} does not exist; {hint}") from error
    except OSError as error:
        raise Failure(FILE_MISSING, f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise Failure(DATA, f"{path} is no JSON ({error})") from error
    if not isinstance(content, dict) or content.get("schema") != schema:
        raise Failure(DATA, f"{path} is no {noun} of isotherm (its schema is not {schema})")
    if content.get("schema_version") != VERSION:
        raise Failure(DATA, f"{path} has schema version {content.get('schema_version')}; this package knows {VERSION}")
    return content
