"""``POST aggregate`` and ``GET rules``: a few numbers, or many questions, combined."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from .bodies import json_object

router = APIRouter()


@router.get("/health")
async def health() -> dict[str, Any]:
    """Whether the server answers, and its version."""
    from .. import __version__

    return {"status": "ok", "version": __version__}


@router.get("/rules")
async def rules() -> dict[str, Any]:
    """As `robustpool rules --json`."""
    from ..views import results

    return results.rules()[0]


@router.post("/aggregate")
async def aggregate(request: Request) -> Any:
    """Combine the forecasts for one event."""
    from ..forecasts import aggregate as combine

    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in ("application/json", ""):
        from .tables import pooled_upload

        return await pooled_upload(request)
    data = await json_object(request)
    rule = data.get("rule", "robust")
    return {"forecast": combine(data["forecasts"], rule), "rule": rule}
