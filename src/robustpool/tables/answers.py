"""From entries to answers: of each forecaster the last one to each question, and one outcome and one cluster a question.

The engine hands the entries over in the order of the source. They are dealt out by question and put in order, some questions at a
time; the rest is arithmetic on columns. Questions and forecasters have numbers here, and names only where somebody reads them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import frozen
from ..errors import InputError
from .engine import among
from .entries import NOTHING, OPTION_NO, TWO_VALUED, UNREADABLE
from .formats import WITHDRAWN
from .options import ALL_ODDS, ALL_TAKEN, ONE_OPTION, SUMS_TO_1, Options, distributions, find_options
from .ordering import by_question
from .records import ForecastTable, RowsLeftOut, Tally
from .rejecting import Failed, RejectionLog
from .values import named, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ..typing import Booleans, Floats, Integers
    from .engine import Engine
    from .entries import Entries
    from .sources import Source

ROOM, HELD, CHUNK = 400_000, 11_000_000, 500_000
"""Entries that are worked on, held as columns, and read at a time."""

MANY = 1_000_000
"""So many forecasters are numbered by a join, which loses the order of the entries, and not by a type of their own."""

NEVER = np.iinfo(np.int64).max

ONE_OUTCOME = "a question must have one outcome"
ONE_CLUSTER = "a question must have one cluster"


class Part(NamedTuple):
    """The answers to some of the questions, and the first entry of each of these."""

    table: ForecastTable  # without names
    first: Integers  # (questions,)


@dataclass
class Answers:
    """All entries of a source in the engine, and what has been learned of them."""

    engine: Engine
    source: Source
    entries: Entries
    log: RejectionLog
    tally: Tally
    size: int  # entries
    forecasters: int
    options: Options | None = None
    question_type: np.dtype[Any] | None = None  # of the names in the source, if they are whole numbers
    doubts: list[tuple[int, str, str]] = field(default_factory=list)  # outcomes not taken: entry, rule and words
    undated: list[tuple[int, str, str]] = field(default_factory=list)  # dates of resolution not taken, likewise

    def count(self, **more: int) -> None:
        """Add to the tally."""
        self.tally = replace(self.tally, **{name: getattr(self.tally, name) + int(n) for name, n in more.items()})

    def parts(self, as_of: float | None = None, *, room: int | None = None) -> Iterator[Part]:
        """The answers in tables with at most about ``room`` entries each, their questions in any order; without ``room`` one."""
        number = self.number_of_parts(room)
        at_once = max(1, (HELD if self.size <= HELD else 2 * HELD) // (room or 1))  # parts whose entries are held
        for first in range(0, number, at_once):
            here = range(first, min(first + at_once, number))
            with ThreadPoolExecutor(1) as ahead:  # the next part is put in order while this one is worked on
                ordered = (ahead.submit(_ordered, rows) for rows in self._rows(here, number))
                current = next(ordered)
                for part in here:
                    rows, following = current.result(), next(ordered, None)
                    yield self._part(*rows, part, number, as_of)
                    current = following or current

    def number_of_parts(self, room: int | None) -> int:
        """How many tables there are with at most about so many entries each."""
        most = 1 if self.options is None else self.options.most
        return 1 if room is None else max(1, -(-self.size * most // room))

    def _rows(self, here: range, parts: int) -> Iterator[dict[str, Any]]:
        """The entries of some parts: read once in their order, and dealt out by the hashes of their questions."""
        self.engine.allow(self.engine.megabytes * 2 // 3)  # the arrays need the rest
        pieces: list[list[dict[str, Any]]] = [[] for _ in here]
        other = replace(self.engine, connection=self.engine.connection.cursor())
        size = max(1, self.size)
        step = size if len(here) == 1 else CHUNK
        with ThreadPoolExecutor(1) as ahead:  # the engine reads on while the entries are dealt out
            rows = ahead.submit(other.arrays, self._query(here, parts, 0, step))
            for entry in range(0, size, step):
                chunk = rows.result()
                if entry + step < size:
                    rows = ahead.submit(other.arrays, self._query(here, parts, entry + step, step))
                if len(here) == 1:
                    pieces[0].append(chunk)
                    continue
                part = np.searchsorted(_lows(here, parts)[1:], chunk["q"], side="right").astype(np.uint8)
                order = np.argsort(part, kind="stable")
                ends = np.searchsorted(part[order], np.arange(len(here) + 1))
                for places, start, end in zip(pieces, ends, ends[1:], strict=False):
                    places.append({name: column[order[start:end]] for name, column in chunk.items()})
        for places in pieces:
            yield {name: np.concatenate([piece[name] for piece in places]) for name in places[0]}
            places.clear()

    def texts(self, entries: Integers, *columns: str) -> list[list[str]]:
        """What some columns of text say in these entries, column by column; many are looked up some at a time."""
        texts: list[list[str]] = [[] for _ in columns]
        self.engine.allow(self.engine.megabytes + CHUNK // 10_000)  # 100 bytes each
        for start in range(0, len(entries), CHUNK):
            some = entries[start : start + CHUNK]
            self.engine.connection.register("wanted", {"entry": some, "place": np.arange(len(some))})
            found = self.engine.arrays(
                f"""SELECT {", ".join(columns)} FROM wanted JOIN entries ON entries.rowid = entry
                    WHERE entries.rowid BETWEEN {some.min()} AND {some.max()} ORDER BY place"""
            )
            for text, column in zip(texts, columns, strict=True):
                text.extend(found[column].tolist())
        return texts

    def forecaster_names(self) -> list[str]:
        """The names of the forecasters, by number."""
        return list(self.engine.arrays("SELECT forecaster AS name FROM forecasters ORDER BY number")["name"].tolist())

    def lines(self, entries: Integers) -> tuple[Integers, Integers]:
        """Where these entries stand in the source."""
        width = self.entries.width
        return self.source.lines(entries // width, self.size // width)

    def unused_outcomes(self) -> RowsLeftOut:
        """Which questions are taken without the outcome that some row says, and why."""
        return self._unused(self.doubts)

    def unused_dates(self) -> RowsLeftOut:
        """Which questions are taken without the date of resolution that some row says, and why."""
        return self._unused(self.undated)

    def _unused(self, doubts: list[tuple[int, str, str]]) -> RowsLeftOut:
        log = RejectionLog(self.log.place)
        lines, _ = self.lines(np.array([entry for entry, _, _ in doubts], dtype=np.int64))
        for line, (_, rule, says) in sorted(zip(lines.tolist(), doubts, strict=True), key=lambda pair: pair[0]):
            log.add(rule, line, says)
        return log.done()

    # --------------------------------------------------------------------------------------------------- one part

    def _part(self, rows: dict[str, Any], question: Integers, part: int, parts: int, as_of: float | None) -> Part:
        starts = np.ones(len(question), np.bool_)
        starts[1:] = question[1:] != question[:-1]
        if (rows["check"][1:] != rows["check"][:-1])[~starts[1:]].any():
            raise InputError("two questions have names with the same hash: rename one of them.")
        start = np.flatnonzero(starts)
        rows["r"] = rows["r"].astype(np.int64)
        first = _least(rows["r"], start)
        outcome, cluster, refused = self._facts(rows, question, start, first)
        resolved = self._resolved(rows, start, refused)
        kept = ~np.isnan(rows["p"]) & ~refused[question]
        if self.options is not None:
            kept |= rows["bad"] & ~refused[question]  # if one option is rejected, the whole answer is
        if as_of is not None:
            early, untimed = rows["t"] <= as_of, np.isinf(rows["t"])  # they may be later: nobody should look ahead
            answered = kept & ~np.isnan(rows["p"])  # what is rejected has been counted
            self.count(untimed=(answered & untimed).sum(), later=(answered & ~early & ~untimed).sum())
            kept &= early & ~untimed
        names = ("f", "r", "p", "t", "w", "e", "k", "size", "no", "bad")
        found = {name: rows[name] for name in names if name in rows} | {"question": question}
        found = _those(found, kept)
        if self.options is not None:
            found = self._distributions(found)
        found = self._last(found, as_of)
        order = np.argsort(first) if parts == 1 else np.arange(len(first))
        if parts == 1:
            number = np.empty_like(order)
            number[order] = np.arange(len(order))
            found["question"] = number[found["question"]]
            found = _those(found, np.argsort(found["question"], kind="stable"))
        optional: dict[str, Any] = {
            name: frozen(found[key]) for name, key in (("weight", "w"), ("timestamp", "t")) if key in found
        }
        if "timestamp" in optional:
            time = optional["timestamp"]
            optional["timestamp"] = frozen(np.where(np.isinf(time), np.nan, time))
        table = ForecastTable(
            questions=range(len(start)),  # type: ignore[arg-type]
            forecasters=range(self.forecasters),  # type: ignore[arg-type]
            question=frozen(found["question"]),
            forecaster=frozen(found["f"].astype(np.int64)),
            probability=frozen(found["p"]),
            outcome=frozen(outcome[order]),
            cluster=None if cluster is None else frozen(cluster[order]),
            options=None if self.options is None else self._option_names(part, parts, order),
            resolved=None if resolved is None else frozen(resolved[order]),
            **optional,
        )
        return Part(table, first[order])

    def _query(self, here: range, parts: int, entry: int, step: int) -> str:
        """The entries of some parts that are forecasts, of ``step`` from one on, with numbers for names."""
        there = self.entries.columns
        probability, outcome, tables = "probability", "outcome", "entries"
        columns = {
            "q": "q",
            "check": '"check"',
            "f": "coalesce(enum_code(TRY_CAST(forecaster AS who)), -1)::INTEGER",
            "r": f"entries.rowid::{'INTEGER' if self.size < 2**31 else 'BIGINT'}",
        }
        if self.forecasters > MANY:
            columns["f"] = "coalesce(number, -1)::INTEGER"
            tables += " LEFT JOIN forecasters USING (forecaster)"
        if "timestamp" in there:
            columns["t"] = "coalesce(timestamp, '-inf'::DOUBLE)"
        if "end" in there:
            columns["e"] = "coalesce(\"end\", 'inf'::DOUBLE)"
        if "weight" in there:
            columns["w"] = "coalesce(weight, 'nan'::DOUBLE)"
        if "cluster" in there:
            columns["c"] = "CASE WHEN fault IS NULL AND cluster <> '' THEN hash(cluster) ELSE 0 END"
        if self.options is not None:
            columns |= {"k": "options.k", "size": "size", "bad": "fault IS NOT NULL"}
            tables += """ JOIN options USING (question, option_key)
                          JOIN (SELECT question, count(*) AS size FROM options GROUP BY question) USING (question)"""
            outcome = self.options.outcome
        elif "option" in there:
            columns["no"] = among("option_key", OPTION_NO)
            probability = "CASE WHEN no THEN 1 - probability ELSE probability END"
        if "outcome" in there:
            columns["o"] = f"(CASE WHEN fault IS NULL THEN {outcome} ELSE {NOTHING} END)::SMALLINT"
        if "resolved" in there:
            columns["d"] = "coalesce(CASE WHEN fault IS NULL THEN resolved END, '-inf'::DOUBLE)"
        columns["p"] = f"coalesce(CASE WHEN fault IS NULL THEN {probability} END, 'nan'::DOUBLE)"
        named = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
        sieves = self.entries.sieves
        return f"""SELECT {named} FROM {tables}
                   WHERE coalesce(fault, {sieves}) >= {sieves} {_some(here, parts)}
                   AND entries.rowid >= {entry} AND entries.rowid < {entry + step}"""

    def _option_names(self, part: int, parts: int, order: Integers) -> list[tuple[str, ...]]:
        """The names of the options of each question, in this order of the questions of a part."""
        query = f"SELECT hash(question) AS q, option FROM options WHERE true {_some(range(part, part + 1), parts)} ORDER BY q, k"
        found = self.engine.arrays(query)
        ends = np.flatnonzero(found["q"][1:] != found["q"][:-1]) + 1
        names = [tuple(group.tolist()) for group in np.split(found["option"], ends)]
        return [names[each] for each in order.tolist()]

    def _distributions(self, rows: dict[str, Any]) -> dict[str, Any]:
        """The entries of each answer as a distribution over the options of its question."""
        assert self.options is not None
        odds = self.entries.odds
        answers, wrong, sums, given, again, replaced = distributions(rows, self.options, odds=odds)
        self.count(duplicates=again, replaced=replaced)
        names = self.texts(wrong, "question", "forecaster")
        for line, name, who, total, size in zip(self.lines(wrong)[0].tolist(), *names, sums, given, strict=True):
            rule, says = (ALL_ODDS, "lacks some") if odds else (SUMS_TO_1, f"sums to {total:g}")
            if np.isnan(total):
                rule, says = ALL_TAKEN, "has one that cannot"
            if size:
                self.log.add(rule, line, f"(question {named(name)}, forecaster {named(who)}) {says}", count=int(size))
        return answers

    def _facts(
        self, rows: dict[str, Any], question: Integers, start: Integers, first: Integers
    ) -> tuple[Floats, Integers | None, Booleans]:
        """The outcome and the cluster of each question, and which questions are refused since they have two clusters."""
        refused = np.zeros(len(start), np.bool_)
        cluster = None
        if "c" in rows:
            code = np.unique(rows["c"], return_inverse=True)[1] if len(start) else rows["c"].astype(np.int64)
            given = rows["c"] != 0
            said, other, earlier = _said_first(code, given, rows["r"], question, start)
            refused = other < NEVER
            alone = len(rows["c"]) + first  # a question without a cluster is one of its own
            cluster = np.where(said >= 0, said, alone)
            if refused.any():
                self._refuse_clusters(rows, question, np.flatnonzero(refused), other, earlier)
        outcome = np.full(len(start), np.nan)
        if "o" in rows:
            values = rows["o"].astype(np.int64)
            said, other, earlier = _said_first(values, values >= 0, rows["r"], question, start)
            unread = _least(np.where(values == UNREADABLE, rows["r"], NEVER), start)
            outcome = np.where(said >= 0, said, np.nan)
            doubtful = (other < NEVER) | (unread < NEVER)
            outcome[doubtful | refused] = np.nan
            self._doubt(np.flatnonzero(doubtful & ~refused), unread, other, earlier)
        return outcome, cluster, refused

    def _doubt(self, questions: Integers, unread: Integers, other: Integers, earlier: Integers) -> None:
        """Take no outcome of these questions: one cannot be read, or there are two."""
        entries = np.where(unread < NEVER, unread, other)[questions]
        before = self.lines(np.where(earlier < NEVER, earlier, 0)[questions])[0].tolist()
        texts = self.texts(entries, "question", "forecaster", "outcome_text")
        for each, entry, line, name, who, text in zip(questions, entries, before, *texts, strict=True):
            if unread[each] < NEVER:
                rule = TWO_VALUED if self.options is None else ONE_OPTION
                self.doubts.append((int(entry), rule, self._says(name, who, text)))
            else:
                says = f"(question {named(name)}) differs from {self.log.place} {line}"
                self.doubts.append((int(entry), ONE_OUTCOME, says))

    def _resolved(self, rows: dict[str, Any], start: Integers, refused: Booleans) -> Floats | None:
        """When the outcome of each question became known: the latest date of its rows, NaN if one of them cannot be read."""
        if "d" not in rows:
            return None
        latest = np.maximum.reduceat(rows["d"], start) if len(start) else rows["d"]
        unread = _least(np.where(np.isnan(rows["d"]), rows["r"], NEVER), start)
        entries = unread[(unread < NEVER) & ~refused]
        texts = self.texts(entries, "question", "forecaster", "resolved_text")
        for entry, *says in zip(entries.tolist(), *texts, strict=True):
            self.undated.append((entry, self.entries.date_rule, self._says(*says)))
        return np.where(np.isfinite(latest) & ~refused, latest, np.nan)

    def _says(self, question: str, forecaster: str, text: str) -> str:
        """What an entry says of its question; in a wide table no forecaster says it."""
        where = f"question {named(question)}" + ("" if self.entries.width > 1 else f", forecaster {named(forecaster)}")
        return f"({where}) is {quoted(text)}"

    def _refuse_clusters(
        self, rows: dict[str, Any], question: Integers, questions: Integers, other: Integers, earlier: Integers
    ) -> None:
        answered = np.bincount(question[~np.isnan(rows["p"])], minlength=len(other))
        lines, earlier_lines = self.lines(other[questions])[0], self.lines(earlier[questions])[0]
        for name, line, before, count in zip(
            self.texts(other[questions], "question")[0], lines, earlier_lines, answered[questions], strict=True
        ):
            says = f"(question {named(name)}) differs from {self.log.place} {before}"
            self.log.add(ONE_CLUSTER, int(line), says, count=int(count))

    def _last(self, rows: dict[str, Any], as_of: float | None) -> dict[str, Any]:
        """The last answer of each forecaster to each question; what became of the others is counted."""
        last = np.ones(len(rows["f"]), np.bool_)
        last[:-1] = (rows["question"][1:] != rows["question"][:-1]) | (rows["f"][1:] != rows["f"][:-1])
        if not last.all():
            number: Integers = np.cumsum(last) - last  # of the answer that is kept
            self.count(**_became(rows, ~last, np.flatnonzero(last)[number]))
        answers = _those(rows, last)
        if "e" in answers:
            ended = answers["e"] <= (np.finfo(np.float64).max if as_of is None else as_of)
            self._withdraw(answers["r"][ended])
            answers = _those(answers, ~ended)
        if "n" in answers:
            self.count(complements=(answers["n"] - 1).sum())  # entries for further options
        return answers

    def _withdraw(self, entries: Integers) -> None:
        names = self.texts(entries, "question", "forecaster")
        for line, question, who in zip(self.lines(entries)[0].tolist(), *names, strict=True):
            self.log.add(WITHDRAWN, line, f"(question {named(question)}, forecaster {named(who)}) has one")


def fill(engine: Engine, source: Source, entries: Entries, tally: Tally) -> Answers:
    """Count what is wrong with the entries, and number the forecasters in the order in which they came."""
    size, missing = engine.rows(
        "SELECT count(*), count(*) FILTER (fault IS NULL AND (probability IS NULL OR isnan(probability))) FROM entries"
    )[0]
    log = RejectionLog(source.place)
    answers = Answers(engine, source, entries, log, tally, size, 0)
    lost = 0
    for each in source.lost(size // entries.width):
        count = (each.last - each.line + 1) * entries.width
        log.add(each.rule, each.line, each.says, count)
        lost += count
    failed = engine.arrays(
        "SELECT rowid AS r, fault, question, forecaster, shown FROM entries WHERE fault IS NOT NULL ORDER BY rowid"
    )
    if len(failed["r"]):
        first, last = answers.lines(failed["r"])
        text = [failed[name].tolist() for name in ("question", "forecaster", "shown")]
        before = log.total
        log.fail(
            Failed(entries.checks, np.asarray(failed["fault"]).astype(np.int64), first, last, *text), entries.width
        )
        lost += log.total - before - len(failed["r"])  # further lines of what is too long
    engine.connection.execute(
        """CREATE TABLE forecasters AS SELECT forecaster, row_number() OVER (ORDER BY min(rowid)) - 1 AS number
           FROM entries WHERE fault IS NULL GROUP BY forecaster"""
    )
    ((answers.forecasters,),) = engine.rows("SELECT count(*) FROM forecasters")
    if answers.forecasters <= MANY:
        engine.connection.execute("CREATE TYPE who AS ENUM (SELECT forecaster FROM forecasters ORDER BY number)")
    answers.options = find_options(engine, entries)
    if answers.options is not None:
        answers.tally = replace(answers.tally, options=answers.options.most)
    answers.count(entries=size + lost, missing=missing)
    return answers


def _ordered(rows: dict[str, Any]) -> tuple[dict[str, Any], Integers]:
    """Rows in the order of their questions, and the number of the question of each."""
    order, question = by_question(rows)
    return {name: column[order] for name, column in rows.items()}, question


def _those(rows: dict[str, Any], which: NDArray[Any]) -> dict[str, Any]:
    """Some of the rows, or the rows in another order; the same if all are kept."""
    if which.dtype == np.bool_ and which.all():
        return rows
    return {name: column[which] for name, column in rows.items()}


def _least(values: Integers, start: Integers) -> Integers:
    """The least value of each group, which begin at ``start``."""
    return np.minimum.reduceat(values, start) if len(start) else values[:0]


def _said_first(
    values: Integers, given: Booleans, entry: Integers, question: Integers, start: Integers
) -> tuple[Integers, Integers, Integers]:
    """For each question: the first value given (-1: none), the first entry that differs from it, and its own entry."""
    earliest = _least(np.where(given, entry, NEVER), start)
    said = np.full(len(start), -1, dtype=np.int64)
    is_first = given & (entry == earliest[question])
    said[question[is_first]] = values[is_first]
    differs = given & (values != said[question])
    return said, _least(np.where(differs, entry, NEVER), start), earliest


def _became(rows: dict[str, Any], dropped: Booleans, by: Integers) -> dict[str, int]:
    """What became of the rows that the rows ``by`` replace."""
    if "n" in rows:  # distributions, of which only one stands at a time
        return {"superseded": int(rows["n"][dropped].sum())}
    old = {name: column[dropped] for name, column in rows.items()}
    new = {name: column[by[dropped]] for name, column in rows.items()}
    same_time = old["t"] == new["t"] if "t" in old else np.ones(len(old["p"]), np.bool_)
    beside = same_time & old["no"] & ~new["no"] if "no" in old else np.zeros(len(old["p"]), np.bool_)
    same = same_time & ~beside & (old["p"] == new["p"])
    if "w" in old:
        same &= old["w"] == new["w"]
    return {
        "complements": int(beside.sum()),
        "duplicates": int(same.sum()),
        "replaced": int((same_time & ~beside & ~same).sum()),
        "superseded": int((~same_time).sum()),
    }


def _lows(here: range, parts: int) -> NDArray[np.uint64]:
    """The least hash of each of these parts."""
    return np.array([part * 2**64 // parts for part in here], dtype=np.uint64)


def _some(here: range, parts: int) -> str:
    """Which questions are in these parts, in SQL."""
    low, high = here.start * 2**64 // parts, here.stop * 2**64 // parts - 1
    return "" if len(here) == parts else f"AND q BETWEEN {low}::UBIGINT AND {high}::UBIGINT"
