"""Every citation `[Guo2024, Lemma 3.4]` names an entry of references.bib."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
KEY = r"(?:[A-Z][A-Za-z]*\d{4}[a-z]?|arXiv\d{4}\.\d{4,5})"
CITATION = re.compile(rf"\[({KEY})((?:, [^\[\]]*)?)\]")
ENDINGS = {".py", ".md", ".json"}
LINK = re.compile(r"\]\((?!\w+:|#|<)([^)\s#]+)")  # of a file, without the heading in it
ENTRY = re.compile(r"^@\w+\{([^,\s]+),", re.MULTILINE)


def cited_keys(text: str) -> set[str]:
    """The keys of all citations in a text; `[Arieli2018, Guo2024]` cites two."""
    keys = set()
    for first, rest in CITATION.findall(text):
        keys |= {first, *(word for word in rest.split(", ") if re.fullmatch(KEY, word))}
    return keys


def test_what_counts_as_a_citation() -> None:
    text = "[Guo2024], [Arieli2018, Kong2024], [FreundSchapire1999, Corollary 4] [arXiv2604.24517, Section 3] x[0] [T1]"
    assert cited_keys(text) == {"Guo2024", "Arieli2018", "Kong2024", "FreundSchapire1999", "arXiv2604.24517"}


def test_every_citation_has_an_entry() -> None:
    entries = set(ENTRY.findall((ROOT / "references.bib").read_text()))
    pages = [
        *ROOT.glob("*.md"),
        *(path for folder in ("src", "docs", "tests") for path in (ROOT / folder).rglob("*") if path.suffix in ENDINGS),
    ]
    cited = {path: cited_keys(path.read_text()) for path in pages if "_build" not in path.parts}
    missing = {f"{path.relative_to(ROOT)}: {key}" for path, keys in cited.items() for key in keys - entries}
    assert not missing, f"not in references.bib: {sorted(missing)}"
    assert any(cited.values()), "no citation was found at all, so the pattern must be wrong"


def test_every_page_that_the_code_points_at_is_there() -> None:
    pages = {
        f"{path.relative_to(ROOT)}: {page}"
        for path in (ROOT / "src").rglob("*.py")
        for page in re.findall(r"docs/(?:theory|derivations)/[\w-]+", path.read_text())
        if not (ROOT / page).with_suffix(".md").is_file()
    }
    assert not pages, f"no such page: {sorted(pages)}"


def test_every_file_that_a_page_links_to_is_there() -> None:
    pages = [*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text())]
    assert len(links) > 100, "few links were found, so the pattern must be wrong"
    missing = {f"{page.relative_to(ROOT)}: {link}" for page, link in links if not (page.parent / link).exists()}
    assert not missing, f"no such file: {sorted(missing)}"


def test_no_entry_is_written_twice() -> None:
    counts = Counter(ENTRY.findall((ROOT / "references.bib").read_text()))
    assert [key for key, count in counts.items() if count > 1] == []
