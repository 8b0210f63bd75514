"""The pages for people, and the style and scripts that they load. Everything comes from this package."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from ..html import TEMPLATES, templates
from . import compare_page, table_page
from .problems import RequestError
from .settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

router = APIRouter(include_in_schema=False)

PAGES = {
    "": ("combine", "Combine"),
    "compare": ("compare", "Compare"),
    "design": ("design", "Design"),
    "table": ("table", "Table"),
    "api/v1/docs": ("api", "API"),
}
"""By path: the template in templates/web and the title in the menu."""

VALUES: dict[str, Callable[[Settings], dict[str, Any]]] = {
    "table": lambda _: table_page.values(),
    "compare": compare_page.values,
}
"""What the template of a page needs besides, by its name."""

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".csv": "text/csv"}
"""Files that pages load from /static: page.css, page.js and whatever is in templates/web."""


def render(path: str, settings: Settings | None = None, /, **values: Any) -> str:
    """A page as HTML, of a server with these settings."""
    from .. import __version__

    name, _ = PAGES[path]
    settings = settings or Settings()
    values = {"machine": settings.machine, **(VALUES[name](settings) if name in VALUES else {}), **values}
    page = templates().get_template(f"web/{name}.html")
    return page.render(pages=PAGES, path=path, version=__version__, root="/", link=lambda where: f"/{where}", **values)


@router.get("/")
@router.get("/compare")
@router.get("/design")
@router.get("/table")
async def page(request: Request) -> Response:
    """A page; its script asks the API for everything else."""
    html = render(request.url.path.strip("/"), request.app.state.settings)
    return Response(html, media_type="text/html")


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A stylesheet, a script or an icon."""
    file = _files().get(name)
    if file is None:
        raise RequestError(404, f"there is no file {name!r}.")
    text, kind = file
    return Response(text, media_type=kind, headers={"Cache-Control": "no-cache"})


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """What there is, read once; a name that is not here is no path on the disk."""
    paths = [TEMPLATES / "page.css", TEMPLATES / "page.js", *sorted((TEMPLATES / "web").iterdir())]
    return {path.name: (path.read_bytes(), TYPES[path.suffix]) for path in paths if path.suffix in TYPES}
