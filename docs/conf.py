"""How the documentation is built: `make docs`."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style as UnsrtStyle
from pybtex.style.labels import BaseLabelStyle
from sphinx.util import logging

import robustpool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybtex.database import Entry
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from test_references import CITATION, KEY  # one pattern says what a citation is, here and in the test

LINK = r"\([./]*references\.md\)\]"  # [[Guo2024](../references.md)] is a link for readers without Sphinx, too
LINKED_CITATION = re.compile(rf"(?:\[(?=\[[^\]]*\]{LINK}))?{CITATION.pattern}(?:{LINK})?")

project = "robustpool"
author = "The robustpool developers"
copyright = author
release = metadata.version("robustpool")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "gallery"]  # the gallery's pages are made in auto_gallery

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": True,  # a script that did not change may show another robustpool
    "write_computation_times": False,
    "show_signature": False,
}

html_theme = "furo"
html_title = "robustpool"

myst_enable_extensions = ["amsmath", "attrs_block", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say shapes, which is more
napoleon_use_rtype = False

bibtex_bibfiles = ["../references.bib"]
bibtex_default_style = "robustpool"
bibtex_reference_style = "label"


class KeyLabels(BaseLabelStyle):
    """Label each entry by its key, so that the page shows what the source says: [Guo2024, Theorem 4.2]."""

    def format_labels(self, entries: Iterable[Entry]) -> Iterator[str]:
        return (entry.key for entry in entries)


class KeyStyle(UnsrtStyle):
    default_label_style = KeyLabels
    default_sorting_style = "author_year_title"


register_plugin("pybtex.style.formatting", "robustpool", KeyStyle)


def link_citations(text: str, role: str) -> str:
    """Turn the citations of a text, written as they are in the code, into links to the list of references."""

    def link(match: re.Match[str]) -> str:
        key, rest = match.groups()
        words = rest.removeprefix(", ").split(", ")
        more = [word for word in words if re.fullmatch(KEY, word)]
        place = ", ".join(word for word in words if word not in more)
        return f"{role}`{','.join([key, *more])}{f'{{{place}}}' if place else ''}`"

    return LINKED_CITATION.sub(link, text)


def link_names(text: str) -> str:
    """Turn `rp.solve`, written as on any page of Markdown, into a link to its documentation."""
    return re.sub(r"`rp\.(\w+)`", r"{py:obj}`rp.\1 <robustpool.\1>`", text)


def setup(app: Sphinx) -> None:
    def read_page(app: Sphinx, name: str, source: list[str]) -> None:
        if app.env.doc2path(name).suffix == ".rst":  # of the gallery, where all but the text is indented
            lines = source[0].splitlines(keepends=True)
            source[0] = "".join(line if line.startswith(" ") else link_citations(line, ":cite:p:") for line in lines)
            return
        blocks = re.split(r"(^```.*?^```$)", source[0], flags=re.MULTILINE | re.DOTALL)
        source[0] = "".join(
            block if block.startswith("```") else link_names(link_citations(block, "{cite:p}")) for block in blocks
        )

    def read_docstring(_app: Sphinx, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
        for number, line in enumerate(lines):
            absolute = (
                line if line.startswith((">>>", "    ")) else line.replace("|", r"\|")
            )  # |x| names no substitution
            lines[number] = link_citations(absolute, ":cite:p:")

    def miss_nothing(_app: Sphinx, environment: BuildEnvironment) -> None:
        documented = environment.domains["py"].objects
        for name in robustpool.__all__:
            if f"robustpool.{name}" not in documented and name != "__version__":
                logging.getLogger(__name__).warning("robustpool.%s is public and not documented.", name, location="api")

    app.connect("source-read", read_page)
    app.connect("env-check-consistency", miss_nothing)
    app.connect("autodoc-process-docstring", read_docstring)
