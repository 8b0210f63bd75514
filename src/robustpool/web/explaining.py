"""``POST explain``: the forecast for one question with its reasons, as the page shows it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from ..errors import InputError
from .bodies import json_object
from .openapi import answer as documented
from .problems import RequestError
from .schemas import EXPLAINED

if TYPE_CHECKING:
    from ..explanation.answering import Answer
    from ..explanation.knowledge import Knowledge

router = APIRouter()

MOST_FORECASTS = 100
LONGEST_NAME = 80
FIELDS = ("forecasts", "names", "rule", "weights", "clip", "know")

PROOFS = ThreadPoolExecutor(max_workers=1, thread_name_prefix="proof")
"""The rule for a new range of base rates takes seconds to prove; one at a time, so that other requests stay quick."""

MOST_WAITING = 20


@router.post("/explain", responses={200: documented("The forecast and its reasons.", EXPLAINED)})
async def explain(request: Request) -> dict[str, Any]:
    """Combine the forecasts for one event and give the reasons.

    The body has ``forecasts`` (numbers, or texts such as "70 %" and "7/10") and, if wanted, ``names``, ``rule``, ``weights``, ``clip`` and
    ``know``: ``base_rate`` [low, high], ``public``, ``knows_all`` (the place of a forecaster from 0, or "unknown"), ``slope``, ``outcomes``.
    With the header ``Prefer: handling=lenient``, wrong input is answered with 200 and a list of ``problems``, each with its field.
    """
    from ..explanation.knowledge import KnowledgeError
    from ..explanation.typed import MistypedError
    from ..views.answer import as_data

    lenient = "handling=lenient" in request.headers.get("prefer", "")
    data = await json_object(request)
    try:
        said = await answer_to(data)
    except InputError as error:
        if not lenient:
            raise
        problem: dict[str, Any] = {"detail": str(error)}
        if isinstance(error, MistypedError):
            problem |= {"forecast": error.place - 1, "suggestion": error.suggestion}
        elif isinstance(error, KnowledgeError):
            problem |= {"know": error.choice}
        return {"problems": [problem]}
    return {"problems": []} | as_data(said)


@router.post("/explain/page", response_class=HTMLResponse)
async def page(request: Request) -> Response:
    """The same as one HTML file, as `aggregate --explain --report` writes it."""
    from ..views.explanation_page import explanation_page
    from ..views.page import render

    said = await answer_to(await json_object(request))
    disposition = {"Content-Disposition": 'attachment; filename="forecast.html"'}
    return Response(render(explanation_page(said)), media_type="text/html", headers=disposition)


async def answer_to(data: dict[str, Any]) -> Answer:
    """The answer to the body of a request."""
    from ..explanation.answering import answer, is_quick

    given = read(data)
    agents, know = len(given["reports"]), given["know"]
    if is_quick(know, agents, given["rule"], weighted=given["weights"] is not None):
        return answer(**given)
    if PROOFS._work_queue.qsize() >= MOST_WAITING:
        raise RequestError(429, "too many new ranges of base rates are waiting for their proof.", {"Retry-After": "10"})
    return await asyncio.get_running_loop().run_in_executor(PROOFS, lambda: answer(**given))


def read(data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `answer` from JSON, checked."""
    from ..explanation.knowledge import read_knowledge

    for name in data:
        if name not in FIELDS:
            raise InputError(f"explain takes {', '.join(FIELDS)}; it was given {name!r}.")
    forecasts = data.get("forecasts")
    if not isinstance(forecasts, list) or not forecasts:
        raise InputError("forecasts must be a list of at least one forecast.")
    if len(forecasts) > MOST_FORECASTS:
        raise InputError(f"explain takes at most {MOST_FORECASTS} forecasts; these are {len(forecasts)}.")
    know = read_knowledge(data.get("know") or {}, len(forecasts))
    rule = data.get("rule") or "robust"
    if not isinstance(rule, str):
        raise InputError(f"rule must be the name of a rule; it is {rule!r}.")
    return {
        "reports": [_report(place, each, know) for place, each in enumerate(forecasts, start=1)],
        "rule": rule,
        "clip": _clip(data.get("clip")),
        "weights": _weights(data.get("weights"), len(forecasts)),
        "know": know,
        "names": _names(data.get("names"), len(forecasts)),
    }


def _report(place: int, value: Any, know: Knowledge) -> Any:
    """A probability, or a distribution over the outcomes."""
    from ..explanation.typed import entered, entered_distribution

    return entered(place, value) if know.outcomes == 2 else entered_distribution(place, value, know.outcomes)


def _clip(clip: Any) -> float | None:
    from ..forecasts import low_end

    return None if clip is None else low_end(clip)


def _weights(weights: Any, agents: int) -> list[float] | None:
    if weights is None:
        return None
    if not isinstance(weights, list) or len(weights) != agents:
        raise InputError(f"weights must be a list of {agents} numbers, one for each forecast.")
    numbers = [weight for weight in weights if isinstance(weight, int | float) and not isinstance(weight, bool)]
    if len(numbers) < agents or not all(0 < weight < 1e300 for weight in numbers):
        raise InputError(f"weights must be positive numbers; they are {weights!r}.")
    return [float(weight) for weight in numbers]


def _names(names: Any, agents: int) -> list[str]:
    if names is None:
        return []
    if not isinstance(names, list) or len(names) != agents or not all(isinstance(name, str) for name in names):
        raise InputError(f"names must be a list of {agents} texts, one for each forecast.")
    cleaned = [" ".join(name.split()) for name in names]
    if any(len(name) > LONGEST_NAME for name in cleaned):
        raise InputError(f"a name may have at most {LONGEST_NAME} characters; one has {max(map(len, cleaned))}.")
    return cleaned
