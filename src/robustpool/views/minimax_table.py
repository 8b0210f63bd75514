"""The minimax table as plain data, as lines for a terminal, as a page of the documentation and as a section of the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..aggregators.distributions import DISTRIBUTION_RULES
from ..aggregators.rules import RULES, get_rule
from ..certificates.certifiable import describe, rule_of
from ..errors import UnsupportedError
from ..files import check_writable, write_text
from ..minimax.proofs import proofs
from ..minimax.recompute import BUDGET, DIGITS, agrees
from ..minimax.rows import verb
from ..wording import counted
from .page import Section, Table
from .terminal import table, terminal_width, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..minimax.proofs import Proof
    from ..minimax.rows import Row
    from ..typing import FilePath

TITLE = "The minimax table"

WHAT = (
    "The regret of a rule is its expected loss minus that of someone who knows how the forecasters came by their forecasts. Each "
    "row bounds the smallest worst-case regret that a rule can have in one setting. No rule has a worst case below a lower bound "
    "that is proved. If the upper bound is proved, the worst case of the row's rule is not above it."
)
KINDS = (
    "A proved bound comes from a certificate or a theorem. A found upper bound is the worst case that a search found; the rule "
    "might have a worse one. The bounds of a design are computed in floating point, and neither is proved. Bounds that are both "
    "proved need not be equal. Proved upper bounds are rounded up, and all other bounds down. The last column has the best "
    "published upper bound that we know for the same setting, with its source."
)
AGAIN = (
    "`robustpool table --recompute` runs the commands of all rows that do not take minutes, and verifies every certificate. "
    "`--row NAME` runs one row."
)

COLUMNS = ("row", "agents", "loss", "lower", "upper", "proved", "rule", "published")


def agree(rows: Sequence[Row], record: Sequence[Row]) -> bool:
    """Whether all recomputed rows are as on record."""
    known = {row.name: row for row in record}
    return all(agrees(row, known[row.name]) for row in rows)


def as_data(rows: Sequence[Row], record: Sequence[Row] = (), **others: object) -> dict[str, Any]:
    """One object a row; recomputed rows say whether they agree with the record, if they are on record."""
    known = {row.name: row for row in record}
    data = []
    for row in rows:
        old = known.get(row.name)
        new = {} if old is None else {"agrees": agrees(row, old) if old.on_record else None}
        data.append(_fields(row) | new)
    return {"rows": data, "proved": sum(row.proved for row in rows), **others}


def _fields(row: Row) -> dict[str, Any]:
    sides = ("lower_from", "upper_from", "first")
    return {
        **{name: value for name, value in asdict(row).items() if name not in sides},
        "proved": row.proved,
        "lower_proved": row.lower is not None and row.lower_from.proved,
        "upper_proved": row.upper is not None and row.upper_from.proved,
        "theorem": row.upper_from.theorem or row.lower_from.theorem,
        "command": " && ".join(f"robustpool {command}" for command in row.commands),
    }


def as_lines(rows: Sequence[Row], record: Sequence[Row] = (), output: str | None = None) -> list[str]:
    """The table, what the words mean, and how it is computed again."""
    if not rows:
        return ["no row: all of these take minutes; --slow recomputes them too"]
    lines = table(COLUMNS, [_cells(row) for row in rows], right=(1, 3, 4))
    proved = sum(row.proved for row in rows)
    notes = [
        f"{counted(len(rows), 'row')}, {proved} of them proved on both sides{_missing(rows)}. {KINDS}",
        AGAIN.replace("`", ""),
    ]
    if record:
        notes = [_compared(rows, {row.name: row for row in record})]
    lines += ["", *wrapped(notes, terminal_width())]
    return [*lines, *([] if output is None else [f"the page is {output}"])]


def _compared(rows: Sequence[Row], known: dict[str, Row]) -> str:
    """How recomputed rows compare with those on record."""
    new = [row.name for row in rows if not known[row.name].on_record]
    differ = [row.name for row in rows if not agrees(row, known[row.name])]
    same = len(rows) - len({*new, *differ})
    parts = [f"{'all' if same == len(rows) else same} as on record"] if same or not rows else []
    parts += [f"not on record yet: {', '.join(new)}"] if new else []
    parts += [f"not as on record: {', '.join(differ)}"] if differ else []
    return f"{counted(len(rows), 'row')} computed again; {'; '.join(parts)}"


def _missing(rows: Sequence[Row]) -> str:
    missing = sum(not row.on_record for row in rows)
    return f", {missing} not computed yet" if missing else ""


def _cells(row: Row) -> tuple[str, ...]:
    """A row as text; the bounds have the digits of the record."""
    return (
        row.name,
        str(row.agents),
        row.loss + ("" if row.states == 2 else f", {row.states} states"),
        _number(row.lower),
        _number(row.upper),
        _kind(row),
        row.rule,
        "-" if row.published is None else f"{row.published:g} [{row.source}]",
    )


def _number(bound: float | None) -> str:
    """A bound on record; no digit is lost, so nothing is rounded.

    >>> _number(0.022542485), _number(0.25), _number(None)
    ('0.022542485', '0.25', '-')
    """
    return "-" if bound is None else f"{bound:.{DIGITS}f}".rstrip("0").rstrip(".") or "0"


def _kind(row: Row) -> str:
    """Which bounds are proved, if they were computed.

    >>> from robustpool.minimax.rows import minimax_rows
    >>> {_kind(row) for row in minimax_rows("unanimous")} == {"both", "lower"}
    True
    """
    if not row.on_record:
        return "-"
    sides = [name for name, bound in (("lower", row.lower_from), ("upper", row.upper_from)) if bound.proved]
    return "both" if len(sides) == 2 else "".join(sides) or "neither"


def markdown(rows: Sequence[Row]) -> str:
    """The page of the documentation."""
    lines = [f"# {TITLE}", "", WHAT, "", KINDS, "", AGAIN, ""]
    lines += [
        f"The table has {counted(len(rows), 'row')}{_missing(rows)}. In {sum(row.proved for row in rows)} of them both bounds are proved.",
        "",
    ]
    for setting in dict.fromkeys(row.setting for row in rows):
        here = [row for row in rows if row.setting == setting]
        lines += [f"## {setting}", ""]
        lines += _markdown_table(here)
        lines += ["", "Computed by:", ""]
        for row in here:
            commands = " and ".join(f"`robustpool {each}`" for each in row.commands)
            pages = sorted({bound.theorem for bound in (row.lower_from, row.upper_from) if bound.theorem})
            theorem = "".join(f"; theorem on [this page]({page.removeprefix('docs/')})" for page in pages)
            slow = "" if row.minutes is None else f" (about {counted(round(row.minutes), 'minute')})"
            lines.append(f"- {row.name}: {row.family}; {commands}{slow}{theorem}")
        lines.append("")
    return "\n".join(lines)


def _markdown_table(rows: Sequence[Row]) -> list[str]:
    body = []
    for row in rows:
        *cells, rule, published = _cells(row)
        body.append([*cells, f"`{rule}`", published.replace("-", "")])
    return [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *map(_line, body)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def write_page(rows: Sequence[Row], path: FilePath) -> None:
    """Write the page of the documentation, whole or not at all."""
    check_writable(path)
    text = markdown(rows)
    write_text(path, text)


def section(rows: Sequence[Row]) -> Section:
    """The table as a section of a report."""
    cells = tuple(map(_cells, rows))
    return Section(
        TITLE, f"{WHAT}\n\n{AGAIN}", (Table("Bounds on the smallest worst-case regret", COLUMNS, cells, KINDS),)
    )


@dataclass(frozen=True)
class Shown:
    """A row as texts, with what a reader wants to know of it: the formula, how it was proved, and its certificates."""

    name: str
    setting: str
    agents: str
    loss: str
    family: str
    lower: str
    upper: str
    lower_proved: bool
    upper_proved: bool
    kind: str
    rule: str
    formula: str
    published: str
    how: str
    command: str
    proofs: tuple[Proof, ...]
    budget: int | None  # that a check of the certificates needs, if it is more than a server allows

    @property
    def proved(self) -> bool:
        """Whether both bounds are."""
        return self.lower_proved and self.upper_proved


KIND = {
    "both": "proved",
    "lower": "lower proved, upper found",
    "upper": "upper proved, lower found",
    "neither": "computed, not proved",
    "-": "not computed yet",
}
"""The kinds of rows, as a page names them."""


LONG = 5
"""Minutes of a row whose certificate takes minutes to check as well."""


def as_shown(rows: Sequence[Row]) -> list[Shown]:
    """The rows as texts.

    >>> from robustpool.minimax.rows import minimax_rows
    >>> row = as_shown(minimax_rows("independent"))[1]
    >>> row.lower, row.upper, row.kind, row.formula
    ('0.022542485', '0.022542486', 'proved', 'logit f = s (0.5 + 0.1 tanh(s/4.0)^2), where s is the sum of the log-odds of the reports')
    """
    return [_shown(row) for row in rows]


def _shown(row: Row) -> Shown:
    data = _fields(row)
    _, agents, loss, lower, upper, kind, rule, published = _cells(row)
    return Shown(
        row.name,
        row.setting,
        agents,
        loss,
        row.family,
        lower,
        upper,
        data["lower_proved"],
        data["upper_proved"],
        KIND[kind],
        rule,
        formula(row),
        "" if row.published is None else published,
        how(row),
        data["command"],
        proofs(row),
        BUDGET if (row.minutes or 0) > LONG else None,
    )


def formula(row: Row) -> str:
    """The formula of a row's rule for so many agents; empty for a design, which is a table."""
    stem = row.rule.partition(":")[0]
    if stem not in RULES:
        return ""
    if row.states > 2:
        return DISTRIBUTION_RULES[stem].formula
    try:
        aggregator = describe(get_rule(row.rule), row.agents)
    except UnsupportedError:
        return RULES[stem].formula
    return RULES[stem].formula if aggregator["kind"] == "grid" else rule_of(aggregator, row.agents).formula


def place(row: str, proof: Proof) -> str:
    """Where the API has a certificate of a row.

    >>> from robustpool.minimax.rows import minimax_rows
    >>> [place("second-question-2", proof) for proof in proofs(minimax_rows("second-question")[0])]
    ['table/second-question-2/certificate?bound=lower', 'table/second-question-2/certificate?bound=upper']
    """
    return f"table/{row}/certificate" + ("" if len(proof.bounds) > 1 else f"?bound={proof.bounds[0]}")


def how(row: Row) -> str:
    """Where the two bounds come from, in sentences."""
    sides = {"lower": row.lower_from, "upper": row.upper_from}
    sources = {side: _source(row, side) for side in sides}
    if sources["lower"] == sources["upper"]:
        return f"Both bounds: {sources['lower']}."
    return " ".join(f"{side.capitalize()} bound: {source}." for side, source in sources.items())


def _source(row: Row, side: str) -> str:
    bound = row.lower_from if side == "lower" else row.upper_from
    if bound.theorem is not None:
        return f"a theorem ({bound.theorem})"
    if bound.proved:
        there = any(side in proof.bounds and proof.file is not None for proof in proofs(row))
        return (
            "a certificate" if there else "a certificate that is too large for the package; the command makes it again"
        )
    return "found by a search" if verb(bound.command or "") == "worst-case" else "a design, computed in floating point"
