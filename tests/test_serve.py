"""The server starts, says where it is, and answers there; what it cannot do it says in one sentence."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import httpx
import pytest

import robustpool as rp
from robustpool.errors import InputError
from servers import serving

if TYPE_CHECKING:
    from pathlib import Path


def test_a_server_answers_where_it_says(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        answer = server.call("POST", "aggregate", json={"forecasts": [0.7, 0.6]}).json()
        assert answer["forecast"] == rp.aggregate([0.7, 0.6])
        assert httpx.get(server.url).headers["content-type"] == "text/html; charset=utf-8"


def test_a_port_in_use_is_said_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=rf"^the server cannot listen at 127.0.0.1:{port} \(Address already in use\)"
        ):
            rp.serve(port)


def test_a_token_needs_a_host() -> None:
    with pytest.raises(InputError, match=r"^a token is for a server that others reach; give a host, too\.$"):
        rp.serve(0, token="secret")
