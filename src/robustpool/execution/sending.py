"""How what items have in common is sent: in parts that are told by their content, each to a worker once.

A ``common`` that is a tuple is sent entry by entry, so that a large game that stays the same does not travel again with
each small table that changes. A worker keeps the parts that it used last.
"""

from __future__ import annotations

import hashlib
import pickle
import traceback
import weakref
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from . import InProcess, using

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT = 16
"""Parts that a worker keeps; master and worker forget by the same rule."""


class Part(NamedTuple):
    """Some data as bytes, and the hash that tells them from others."""

    digest: str
    content: bytes


class Message(NamedTuple):
    """An item for a worker: the function and what is common, as parts (without content, if the worker has it), and the item."""

    parts: list[Part]
    is_tuple: bool  # whether what is common is a tuple of its parts
    item: bytes


class Kept(OrderedDict[str, Any]):
    """What was used last, by its hash."""

    def use(self, digest: str, content: Callable[[], Any]) -> Any:
        """What has this hash; ``content`` makes it if it is new."""
        if digest not in self:
            self[digest] = content()
            while len(self) > KEPT:
                self.popitem(last=False)
        self.move_to_end(digest)
        return self[digest]


class Wrapping:
    """Makes parts of what is common; frozen records are hashed once, however often they come."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[int, tuple[weakref.ref[Any], Part]] = {}

    def parts(self, common: Any) -> list[Part]:
        """The parts, in the order of a tuple's entries."""
        return [self._part(each) for each in (common if type(common) is tuple else (common,))]

    def _part(self, data: Any) -> Part:
        known, part = self._known.get(id(data), (None, None))
        if known is not None and known() is data:
            assert part is not None
            return part
        content = packed(data)
        part = Part(hashlib.blake2b(content, digest_size=16).hexdigest(), content)
        parameters = getattr(type(data), "__dataclass_params__", None)
        if parameters is not None and parameters.frozen and hasattr(type(data), "__weakref__"):
            number = id(data)
            self._known[number] = (weakref.ref(data, lambda _: self._known.pop(number, None)), part)
        return part


def answered(message: Message, kept: Kept) -> tuple[bool, bytes]:
    """A worker's answer: whether it went well, and the result or the error."""
    try:
        try:
            function, *parts = [kept.use(part.digest, partial(pickle.loads, part.content)) for part in message.parts]
            item = pickle.loads(message.item)
        except Exception as error:  # noqa: BLE001  # whatever is missing here
            raise CannotSendError(f"{type(error).__name__}: {error}") from None
        with using(InProcess(1)):  # one core for each worker; work inside work is done in place
            result = function(tuple(parts) if message.is_tuple else parts[0], item)
        return True, pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    except BaseException as error:  # noqa: BLE001  # the master raises it
        error.add_note(f"In a worker: {traceback.format_exc()}")
        return False, _sendable(error)


def _sendable(error: BaseException) -> bytes:
    """An error as bytes that can be read again."""
    try:
        content = pickle.dumps(error)
        pickle.loads(content)
    except Exception:  # noqa: BLE001  # an error with an __init__ of its own
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return content


def packed(data: Any) -> bytes:
    """Data as bytes; with cloudpickle, if it is there, also functions that stand in no module."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL)
    return bytes(cloudpickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL))


class CannotSendError(Exception):
    """Something cannot be sent to a worker, or not read there: the work is done here instead."""
