"""Bodies with several parts (multipart/form-data): small, without files on disk, and without trust in the names of files."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import InputError

MOST_PARTS = 10
MOST_HEAD = 4096


class Part(NamedTuple):
    """A part: what it holds, and what the client calls the file, which is only shown."""

    content: bytes
    filename: str | None


def boundary(content_type: str) -> bytes | None:
    """What divides the parts; None if there are no parts."""
    if content_type.partition(";")[0].strip().lower() != "multipart/form-data":
        return None
    found = re.search(r'boundary="?([^";,\s]{1,200})"?', content_type, re.IGNORECASE)
    if found is None:
        raise InputError("multipart/form-data needs a boundary; the header Content-Type has none.")
    return found.group(1).encode("latin-1", "replace")


def split_parts(body: bytes, boundary: bytes) -> dict[str, Part]:
    r"""The parts by name.

    >>> body = b'--x\r\nContent-Disposition: form-data; name="table"; filename="a.csv"\r\n\r\nq,p\r\n--x--\r\n'
    >>> split_parts(body, b"x")
    {'table': Part(content=b'q,p', filename='a.csv')}
    """
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, MOST_PARTS + 2)
    if len(pieces) < 3 or not pieces[-1].startswith(b"--"):
        most = f" of at most {MOST_PARTS} parts" if len(pieces) > MOST_PARTS + 1 else ""
        raise InputError(f"the body must be multipart/form-data{most} that ends with its boundary.")
    parts: dict[str, Part] = {}
    for piece in pieces[1:-1]:
        head, blank, content = piece.partition(b"\r\n\r\n")
        text = head[:MOST_HEAD].decode("utf-8", "replace")
        name = re.search(r'\bname="([^"]*)"', text)
        if not blank or name is None:
            raise InputError("a part of multipart/form-data must have a header with its name and a blank line.")
        if name.group(1) in parts:
            raise InputError(f"a part must be there once; {name.group(1)[:80]!r} is there twice.")
        filename = re.search(r'\bfilename="([^"]*)"', text)
        parts[name.group(1)] = Part(content, None if filename is None else filename.group(1))
    return parts
