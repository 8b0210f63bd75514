"""The application: every route, behind the guard."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from .. import __version__
from . import aggregating, designs, documentation, explaining, job_routes, metrics, pages, tables, verifying
from .guard import Guard
from .jobs.manager import Jobs
from .openapi import document_calls
from .problems import answer_problems
from .quick import Quick
from .settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

API = "/api/v1"


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application that `robustpool serve` runs; its settings are in ``app.state.settings``."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await app.state.jobs.start()
        try:
            yield
        finally:
            await app.state.jobs.stop()

    app = FastAPI(
        title="robustpool",
        version=__version__,
        description="Combine probability forecasts into one that stays good whatever the forecasters' information was.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.settings = settings or Settings()
    app.state.jobs = Jobs(app.state.settings)
    app.state.metrics = metrics.Metrics()
    answer_problems(app)
    for part in (aggregating, metrics, explaining, tables, verifying, designs, job_routes):
        app.include_router(part.router, prefix=API)
    app.include_router(pages.router)
    app.include_router(documentation.router)
    document_calls(app)
    app.add_middleware(Quick)
    app.add_middleware(Guard, settings=app.state.settings, metrics=app.state.metrics)
    return app
