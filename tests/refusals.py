"""What wrong input gets: an error of ours, with a sentence that says what is wrong."""

from __future__ import annotations

import pytest

from robustpool.errors import InputError, UnsupportedError


def input_error(sentence: str) -> pytest.RaisesExc[InputError]:
    """Expect that the input is called wrong with a sentence that matches."""
    return pytest.raises(InputError, match=sentence)


def unsupported_error(sentence: str) -> pytest.RaisesExc[UnsupportedError]:
    """Expect that the request is called unsupported with a sentence that matches."""
    return pytest.raises(UnsupportedError, match=sentence)
