"""Calls of the tools' package that must end with its exception."""

import pytest
from isotherm_tools.program import Failure


def expect_failure(code, text, call, *words, **options):
    """Expects this exit code, and this text in the message; returns the message."""
    with pytest.raises(Failure) as caught:
        call(*words, **options)
    assert caught.value.code == code and text in str(caught.value), caught.value
    return str(caught.value)
