"""An answer as JSON for the page: every number with the text that is shown, and for two forecasters the map as a picture."""

from __future__ import annotations

import base64
import struct
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.distributions import DISTRIBUTION_RULES
from ..aggregators.rules import RULES
from ..explanation.answering import forecast_map
from ..html import VIRIDIS
from ..wording import percent, shown

if TYPE_CHECKING:
    from ..explanation.answering import Answer
    from ..explanation.knowledge import Knowledge
    from ..typing import Integers

ENLARGED = 3
"""Pixels of the picture for each whole percent."""


def as_data(said: Answer, *, picture: bool = True) -> dict[str, Any]:
    """The answer as a JSON object; ``picture``: with the map of two forecasters."""
    two = said.know.outcomes == 2
    why = said.why
    drawn = picture and two and len(said.reports) == 2
    return {
        "forecast": said.forecast,
        "text": shown(said.forecast) if two else None,
        "percent": percent(said.forecast) if isinstance(said.forecast, float) else None,
        "outcomes": None if two else [_outcome(value) for value in _many(said.forecast)],
        "rule": said.rule,
        "used": said.used,
        "reports": list(said.reports),
        "sliders": [_slider(report) for report in said.reports],
        "plain": {"forecast": said.plain, "text": shown(said.plain)},
        "changed": shown(said.plain) != shown(said.forecast),
        "rules": [
            {
                "name": rule.name,
                "forecast": rule.forecast,
                "text": shown(rule.forecast),
                "regret": rule.regret,
                "proved": rule.proved,
                "what": rule.cost(),
                "bound": rule.cost().partition(", ")[0],
                "how": rule.cost().partition(", ")[2],
                "chosen": rule.chosen,
                "formula": _formula(rule.name, two=two),
            }
            for rule in said.rules
        ],
        "choices": _choices(two=two),
        "on_rules": [] if why is None else list(why.on_rules),
        "on_base_rate": [] if why is None else list(why.on_base_rate),
        "base_rates": []
        if why is None
        else [
            {"rate": percent(prior), "text": shown(value)} for prior, value in why.posterior if why.base_rate_matters
        ],
        "knowledge": {choice: list(sentences) for choice, sentences in said.knowledge.items()},
        "worlds": [list(sentences) for sentences in said.world_sentences],
        "reason": list(said.reason),
        "map": map_picture(said.rule, said.clip, said.weights, said.know) if drawn else None,
    }


def _many(forecast: float | tuple[float, ...]) -> tuple[float, ...]:
    return forecast if isinstance(forecast, tuple) else (forecast,)


def _outcome(value: float) -> dict[str, Any]:
    return {"forecast": value, "text": shown(value), "percent": percent(value)}


def _slider(report: float | tuple[float, ...]) -> Any:
    """Where a slider in percent stands."""
    return [round(100 * each, 6) for each in report] if isinstance(report, tuple) else round(100 * report, 6)


def _choices(*, two: bool) -> list[str]:
    """The rules that need no number from the user."""
    if not two:
        return list(DISTRIBUTION_RULES)
    return [name for name, rule in RULES.items() if all(each.default is not None for each in rule.parameters.values())]


def _formula(name: str, *, two: bool) -> str:
    stem = name.partition(":")[0].partition(",")[0]
    rules = RULES if two else DISTRIBUTION_RULES
    return rules[stem].formula if stem in rules else ""


# --------------------------------------------------------------------------------------------------------- the picture


@lru_cache(maxsize=64)
def map_picture(rule: str, clip: float | None, weights: tuple[float, ...] | None, know: Knowledge) -> str:
    """The forecast over all pairs of whole percents as a PNG in a data URL; the first report to the right, the second upwards."""
    return f"data:image/png;base64,{base64.b64encode(map_png(rule, clip, weights, know)).decode('ascii')}"


def map_png(
    rule: str,
    clip: float | None,
    weights: tuple[float, ...] | None,
    know: Knowledge,
    point: tuple[float, float] | None = None,
) -> bytes:
    """The same as the bytes of a PNG; with a ``point``, there is a ring around these two reports."""
    colours = np.rint(forecast_map(rule, clip, weights, know) * (len(VIRIDIS) - 1)).astype(np.int64)
    return picture(colours, point)


BLACK, WHITE = len(VIRIDIS), len(VIRIDIS) + 1
RING = ((8.0, 13.0, BLACK), (9.0, 12.0, WHITE))
"""The ring around a point, in pixels: from one radius to another in a colour."""


def picture(colours: Integers, point: tuple[float, float] | None = None) -> bytes:
    """Numbers of colours, [first, second], as a PNG.

    >>> picture(np.zeros((2, 2), dtype=np.int64))[1:4]
    b'PNG'
    """
    rows = np.flipud(colours.T).repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)
    if point is not None:
        height, width = rows.shape
        x, y = ((width - ENLARGED) * point[0] + 1, (height - ENLARGED) * (1 - point[1]) + 1)
        away = np.hypot(np.arange(height)[:, None] - y, np.arange(width)[None, :] - x)
        for inner, outer, colour in RING:
            rows = np.where((away >= inner) & (away <= outer), colour, rows)
    height, width = rows.shape
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), rows.astype(np.uint8)], axis=1)
    palette = b"".join(bytes.fromhex(colour[1:]) for colour in (*VIRIDIS, "#000000", "#ffffff"))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
