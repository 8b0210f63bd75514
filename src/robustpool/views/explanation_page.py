"""The page of one forecast: what was said, what is known, what can go wrong, what the other rules say, and the reason to repeat."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ..explanation.knowledge import UNKNOWN
from ..explanation.sentences import called, number_as_given
from ..wording import percent, shown
from .answer import map_png
from .page import Page, Picture, Section, Table, write_page

if TYPE_CHECKING:
    from ..explanation.answering import Answer
    from ..explanation.knowledge import Knowledge
    from ..typing import FilePath

TITLES = {
    "slope": "They are over-confident",
    "base_rate": "The base rate lies in a range",
    "public": "All saw the same public evidence",
    "knows_all": "One knows all that the others know",
    "outcomes": "More than two outcomes",
}
"""What the choices are called, here and on the page."""


def write_explanation(said: Answer, path: FilePath) -> None:
    """Write the page, whole or not at all."""
    write_page(explanation_page(said), path)


def explanation_page(said: Answer) -> Page:
    """The whole page of an answer."""
    return Page(
        title=f"The forecast is {shown(said.forecast)}",
        lead=" ".join(said.reason),
        sections=tuple(filter(None, (_reports(said), _known(said), _worlds(said), _rules(said), _base_rates(said)))),
        settings=_settings(said),
    )


def _reports(said: Answer) -> Section:
    names = [called(place, said.names) for place in range(len(said.reports))]
    columns: tuple[str, ...] = ("forecaster", "report")
    rows = [(name, number_as_given(report)) for name, report in zip(names, said.reports, strict=True)]
    if said.weights is not None:
        columns = (*columns, "weight")
        rows = [(*row, f"{weight:g}") for row, weight in zip(rows, said.weights, strict=True)]  # type: ignore[misc]
    parts: tuple[Picture | Table, ...] = (Table("Reports", columns, tuple(rows)),)
    if len(said.reports) == 2 and said.know.outcomes == 2:
        parts = (*parts, _map(said))
    return Section("What the forecasters say", "", parts)


def _map(said: Answer) -> Picture:
    first, second = said.reports
    png = map_png(said.rule, said.clip, said.weights, said.know, (first, second))
    alt = f"Map of the forecast over all pairs of reports, with a ring at {number_as_given(first)} and {number_as_given(second)}."
    meaning = (
        "The forecast for every pair of reports, from dark for 0 to bright for 1: the first report to the right, the second upwards. "
        f"The ring is at these two; the forecast there is {shown(said.forecast)}."
    )
    return Picture("map", "The forecast for all pairs of reports", png, alt, meaning)


def _known(said: Answer) -> Section | None:
    if not said.knowledge:
        return None
    points = [f"{TITLES[choice]}. {' '.join(sentences)}" for choice, sentences in said.knowledge.items()]
    without = f"Without it the rule {said.rule} gives {shown(said.plain)}."
    return Section("What is known", without, points=tuple(points))


def _worlds(said: Answer) -> Section:
    return Section("The worst world for these numbers", "\n\n".join(" ".join(world) for world in said.world_sentences))


def _rules(said: Answer) -> Section:
    columns = ("rule", "forecast", "worst-case regret")
    width = 3 if any(rule.regret is not None for rule in said.rules) else 2
    cells = [(f"{rule.name} *" if rule.chosen else rule.name, shown(rule.forecast), rule.cost()) for rule in said.rules]
    rows = tuple(row[:width] for row in cells)
    note = "" if said.why is None else " ".join(said.why.on_rules)
    return Section(
        "What the rules say", "", (Table("Forecasts of the rules (* is the one used)", columns[:width], rows, note),)
    )


def _base_rates(said: Answer) -> Section | None:
    if said.why is None or not said.why.base_rate_matters:
        return None
    rows = tuple((percent(prior), shown(value)) for prior, value in said.why.posterior)
    table = Table("The right answer, if the private evidence is independent", ("base rate", "right answer"), rows)
    return Section("If the base rate is known", "\n\n".join(said.why.on_base_rate), (table,))


def _settings(said: Answer) -> dict[str, str]:
    """What makes the page again."""
    settings = {"rule": said.rule, "rule used": said.used}
    if said.know.outcomes == 2:
        settings["command"] = command(said)
    return settings


def command(said: Answer) -> str:
    """The command that writes the page."""
    words = ["robustpool", "aggregate", *map(number_as_given, said.reports), "--explain", *_options(said.know)]
    if said.rule != "robust":
        words += ["--rule", said.rule]
    if said.clip is not None:
        words += ["--clip", f"{said.clip:g}"]
    if said.weights is not None:
        words += ["--weights", ",".join(f"{weight:.12g}" for weight in said.weights)]
    if any(said.names):
        words += ["--names", ",".join(said.names)]
    return shlex.join([*words, "--report", "forecast.html"])


def _options(know: Knowledge) -> list[str]:
    words: list[str] = []
    if know.base_rate is not None:
        words += ["--prior-range", *map(number_as_given, know.base_rate)]
    if know.public:
        words.append("--public-evidence")
    if know.knows_all is not None:
        words += ["--knows-all", UNKNOWN if know.knows_all == UNKNOWN else f"{int(know.knows_all) + 1}"]
    if know.slope is not None:
        words += ["--slope", number_as_given(know.slope)]
    return words
