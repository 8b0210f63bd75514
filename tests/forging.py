"""Forged certificates: one small honest certificate of each kind, ways to change it, and signatures that fit.

A forgery is signed again with the package's own functions, so that neither the hash nor the stated claims give it away:
only the mathematics can.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import math
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import oracle
import robustpool as rp
from programs import run_python
from robustpool.certificates.certifiable import rule_of
from robustpool.verification.claims import claims
from robustpool.verification.reading import Refused
from robustpool.verification.verify import content_hash

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from robustpool.certificates.progress import Progress

Data = dict[str, Any]
BUDGET = 3_000_000  # steps, for a forgery: honest certificates of these kinds take a tenth
REFEREE = importlib.util.find_spec("robustpool.referee") is not None
STUMBLES = (AttributeError, AssertionError, LookupError, TypeError, ValueError, ArithmeticError, Refused)


# ---------------------------------------------------------------------------------------------------- honest certificates


def stop_at_once(progress: Progress) -> None:
    """Take the first certificate that there is: it has room between its bounds, and is quick to make."""
    if progress.certificate is not None:
        raise KeyboardInterrupt


def small(aggregator: Any, prior_range: tuple[float, float], agents: int = 2) -> rp.Certificate:
    """A certificate on independent agents."""
    family = rp.ConditionallyIndependent(agents, None, None, prior_range)
    return rp.certify(aggregator, family, tolerance=1e-2, progress=stop_at_once)


def table(n: int, seed: int | None = None) -> rp.GridAggregator:
    """A table without any order, or one that goes beyond the mean."""
    if seed is not None:
        values = np.round(np.random.default_rng(seed).random((n + 1, n + 1)) * 64) / 64
        return rp.GridAggregator((values + values.T) / 2)
    mean = np.add.outer(np.arange(n + 1), np.arange(n + 1)) / (2 * n)
    return rp.GridAggregator(np.clip(np.round(64 * (1.25 * mean - 0.125)) / 64, 0, 1))


ROUGH = rp.GridAggregator(np.array([[0.1, 0.3], [0.6, 0.9]]))
SPLIT_FAMILY = rp.ConditionallyIndependent(2, None, None, (0.349, 0.35))
INDEPENDENT: dict[str, Callable[[], rp.Certificate]] = {
    "theorem": lambda: rp.certify("minimax"),
    "slopes": lambda: small("log-odds:alpha=0.6", (0.0, 1.0)),
    "slopes for three": lambda: small("log-odds:alpha=0.6", (0.0, 1.0), 3),
    "slopes on both sides": lambda: small("bordley:prior=0.4", (0.45, 0.6)),
    "mean": lambda: small("mean", (0.3, 0.33)),
    "low tail": lambda: small("mean", (0.0, 0.01)),
    "rough table": lambda: small(ROUGH, (0.3, 0.32)),
    "high tail": lambda: small(ROUGH, (0.995, 1.0)),
    "design": lambda: small(table(3), (0.3, 0.4)),
    "splits": lambda: rp.certify(table(3, seed=12), SPLIT_FAMILY, tolerance=5e-4),
    "prior estimate": lambda: small("arieli-tuned", (0.4, 0.42)),
    "geometric mean": lambda: small("geometric-mean", (0.4, 0.42)),
    "karmarkar": lambda: small("karmarkar", (0.4, 0.42)),
    "beta-pool": lambda: small("beta-pool", (0.4, 0.42)),
    "no upper bound": lambda: small("mean", (0.0, 1.0), 3),
}
BULLETINS = [
    [[["81/280", "9/56"], ["9/56", "5/56"]], [["1/120", "1/24"], ["1/24", "5/24"]]],
    [[["9/20", 0], [0, "1/4"]], [["1/20", 0], [0, "1/4"]]],
]
HEAVY, LIGHT = ["1/10", "1/5"], ["1/10", "1/10"]
THREE_STATES = [[["3/10", "1/10"], HEAVY, HEAVY], [["2/5", "1/10"], LIGHT, HEAVY]]
FINITE = {
    f"finite, {report}, {paradigm}": (BULLETINS, report, paradigm)
    for report in ("posterior", "higher-order", "decision")
    for paradigm in ("additive", "absolute", "ratio")
} | {"finite, three states": (THREE_STATES, "posterior", "additive"), "finite, listed": (BULLETINS, "listed", "ratio")}
KINDS = (*INDEPENDENT, *FINITE)


@cache
def _original(kind: str) -> str:
    data = finite(*FINITE[kind]) if kind in FINITE else INDEPENDENT[kind]().data
    return json.dumps(data)


def original(kind: str) -> Data:
    """An honest certificate, as it comes from a file."""
    return dict(json.loads(_original(kind)))


def finite(joints: list[Any], report: str, paradigm: str) -> Data:
    """A certificate on a finite family, with the bounds that the oracle computes, rounded outward."""
    states, agents = len(joints[0]), depth(joints[0]) - 1
    family: Data = {
        "kind": "finite",
        "states": [f"state {i}" for i in range(states)],
        "agents": [f"agent {i}" for i in range(agents)],
        "report": "posterior" if report == "listed" else report,
        "structures": [{"name": f"structure {i}", "joint": joint} for i, joint in enumerate(joints)],
    }
    data: Data = {"family": family, "loss": "square", "paradigm": paradigm}
    if report == "listed":
        found = [
            [{"reports": texts(reports), "mass": texts(mass)} for reports, mass in points]
            for points in oracle.structures(data)
        ]
        family["report"] = report
        family["structures"] = [{"name": f"structure {i}", "points": points} for i, points in enumerate(found)]
    profiles = sorted({reports for points in oracle.structures(data) for reports, _ in points})
    forecasts = [answer(profile, states) for profile in profiles]
    data["aggregator"] = {"kind": "table", "reports": texts(profiles), "forecasts": texts(forecasts)}
    mixture = [{"weight": f"1/{len(joints)}", "structure": i} for i in range(len(joints))]
    data["upper"] = {"bound": rounded(oracle.worst_case(data), math.inf)}
    data["lower"] = {"bound": rounded(oracle.expected(data, mixture), -math.inf), "mixture": mixture}
    data["value"] = {"bound": rounded(oracle.least(data, mixture), -math.inf), "mixture": mixture}
    data |= {"format": "robustpool-certificate/2", "claims": [], "versions": {"robustpool": "0", "python": "3"}}
    return sign(data)


def answer(profile: oracle.Reports, states: int) -> Any:
    """The mean of the reported beliefs, moved inward so that no ratio is infinite."""
    width = 1 if states == 2 else states
    mean = [sum(report[k] for report in profile) / len(profile) for k in range(width)]
    inward = [(19 * x + Fraction(1, max(states, 2))) / 20 for x in mean]
    return inward[0] if states == 2 else inward


def depth(nested: Any) -> int:
    """How deep lists are nested."""
    return 1 + depth(nested[0]) if isinstance(nested, list) else 0


def texts(value: Any) -> Any:
    """Fractions as a file writes them."""
    return [texts(part) for part in value] if isinstance(value, (list, tuple)) else str(value)


def rounded(exact: Any, towards: float) -> float:
    """A double on this side of a number."""
    nearest = float(exact)
    return nearest if nearest == exact or (nearest > exact) == (towards > 0) else math.nextafter(nearest, towards)


def sign(data: Data) -> Data:
    """State the claims that the content makes, true or not, and hash it."""
    with suppress(*STUMBLES):  # what makes it stumble is refused before its claims are looked at
        aggregator = data["aggregator"]
        formula = None if data["family"]["kind"] == "finite" else rule_of(aggregator, data["family"]["agents"]).formula
        data["claims"] = claims(data, formula)
    data["hash"] = content_hash(data)
    return data


# -------------------------------------------------------------------------------------------------------------- verdicts


def verdict(data: Data) -> rp.Verification:
    """What the verifier says of a forgery; it must not stumble, and what it accepts must be true."""
    result = rp.verify(data, budget=BUDGET)
    assert result.sentence.isprintable()
    assert "could not be read" not in result.sentence, result.sentence
    if result.verified:
        bounds = tuple(data.get(name, {}).get("bound") for name in ("upper", "lower", "value", "unanimous"))
        assert (result.upper, result.lower, result.value, result.unanimous) == bounds
        assert oracle.falsehood(data) is None, oracle.falsehood(data)
        assert oracle.uncovered(data) is None, oracle.uncovered(data)
        check_sentences(data, result.claims)
    return result


FALSE_LABEL = "proved: its regret is 0"
NOUNS = {"additive": "worst-case regret", "absolute": "worst-case expected loss", "ratio": "worst-case ratio"}


def check_sentences(data: Data, sentences: tuple[str, ...]) -> None:
    """The claims in words name the paradigm, the bounds and the family, and no label."""
    named = [name for name in ("upper", "lower", "value", "unanimous") if name in data]
    several = ("value" in named) + ("unanimous" in named)
    assert len(sentences) == several + any(name in named for name in ("upper", "lower"))
    for name in named:
        assert sum(repr(float(data[name]["bound"])) in sentence for sentence in sentences) >= 1
    for sentence in sentences:
        assert sentence.isprintable()
        assert sentence.startswith("Square loss, ")
        assert [noun for noun in NOUNS.values() if noun in sentence] == [NOUNS[data["paradigm"]]]
        assert FALSE_LABEL not in sentence
        if data["family"]["kind"] == "finite":
            assert f"the {len(data['family']['structures'])} structure" in sentence
        else:
            assert f"{data['family']['agents']} agents" in sentence or data["family"]["agents"] == 1
            low, high = data["family"]["prior_range"]
            assert f"from {low} to {high}" in sentence or [Fraction(low), 1 - Fraction(high)] == [Fraction(0)] * 2


def referee_accepts(path: Path) -> bool:
    """The verdict of the other checker, which shares nothing with the package, by its exit status."""
    done = run_python("-m", "robustpool.referee", str(path))
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode == 0


# -------------------------------------------------------------------------------------------------------------- forgeries


def forge(rng: random.Random, kinds: tuple[str, ...] = ()) -> tuple[str, Data]:
    """A certificate that was changed in one to three ways and signed again, with a description."""
    while True:
        kind = rng.choice(kinds or tuple(rng.choice((INDEPENDENT, INDEPENDENT, FINITE))))
        data = original(kind)
        names = rng.choices(list(FORGERIES), k=rng.choice((1, 1, 1, 2, 3)))
        try:
            for name in names:
                FORGERIES[name](data, rng)
            if data == original(kind):
                continue
            if rng.random() < 0.6:
                names.append(claim_again(data, rng))
        except STUMBLES:  # this way does not fit this kind
            continue
        return f"{kind}: {', '.join(names)}", sign(data)


def claim_again(data: Data, rng: random.Random) -> str:
    """Bounds for what was changed: with room, as sharp as the verifier takes them, or one that is false by little."""
    tiny = rng.choice([0.0, 1e-15, 1e-12, 1e-9, 1e-6])
    how = rng.choice(["room", "sharp", "sharp", "false upper", "false lower", "false value"])
    if how in ("room", "sharp"):
        room = oracle.slack(data)
        if "upper" in data:
            data["upper"]["bound"] = rounded(oracle.worst_case(data) + rng.choice([0, 0.02, 0.1]) + room, math.inf)
        data["lower"]["bound"] = rounded(oracle.expected(data, data["lower"]["mixture"]) - room, -math.inf)
        if "value" in data:
            data["value"]["bound"] = rounded(oracle.least(data, data["value"]["mixture"]), -math.inf)
        if "unanimous" in data:
            data["unanimous"]["bound"] = rounded(oracle.least_unanimous(data, data["unanimous"]["mixture"]), -math.inf)
        if how == "sharp" and "upper" in data:
            sharpen(data)
    elif how == "false upper":
        exact = rounded(oracle.worst_case(data), -math.inf)
        data["upper"]["bound"] = math.nextafter(exact - tiny - oracle.slack(data), -1)
    elif how == "false lower":
        exact = rounded(oracle.expected(data, data["lower"]["mixture"]), math.inf)
        data["lower"]["bound"] = math.nextafter(exact + tiny + oracle.slack(data), 2)
    else:
        data.setdefault("value", {"mixture": data["lower"]["mixture"]})
        exact = rounded(oracle.least(data, data["value"]["mixture"]), math.inf)
        data["value"]["bound"] = math.nextafter(exact + tiny, 2)
    return how


def sharpen(data: Data) -> None:
    """The least upper bound that the verifier takes, by bisection: this is where a wrong constant would show."""
    least, most = float(oracle.worst_case(data)) - 0.05, data["upper"]["bound"] + 0.1
    for _ in range(6):
        data["upper"]["bound"] = middle = (least + most) / 2
        least, most = (least, middle) if rp.verify(sign(data), budget=BUDGET) else (middle, most)
    data["upper"]["bound"] = most


def moved(x: Any, rng: random.Random) -> Any:
    """Another number: next to it, near it, or far away; sometimes written in another way."""
    value = Fraction(x)
    y = float(value)
    near: list[Any] = [math.nextafter(y, 2), math.nextafter(y, -1)]
    near += [y * (1 + size) for size in (1e-12, 1e-6, 1e-3, 0.1, -1e-12, -1e-6, -1e-3, -0.1)]
    far: list[Any] = [0, 1, -y, y / 2, 2 * y, 1 - y, y + 0.25, 1e299]
    written: list[Any] = [str(value), y, str(value + Fraction(1, 10**30)), str(value.limit_denominator(100))]
    return rng.choice(rng.choice([near, far, written]))


def any_item(values: list[Any], rng: random.Random) -> int:
    """A place in a list."""
    return rng.randrange(len(values))


def move_bound(data: Data, rng: random.Random) -> None:
    claim = data[rng.choice(["upper", "lower", "value", "unanimous"])]
    claim["bound"] = float(moved(claim["bound"], rng))


def bounds_beyond_by_an_ulp(data: Data, rng: random.Random) -> None:
    for name, towards in (("upper", -1), ("lower", 2), ("value", 2), ("unanimous", 2)):
        if name in data and rng.random() < 0.7:
            for _ in range(rng.choice([1, 1, 2, 4])):
                data[name]["bound"] = math.nextafter(data[name]["bound"], towards)


def exchange_bounds(data: Data, rng: random.Random) -> None:
    one, other = rng.sample(["upper", "lower", "value", "unanimous"], 2)
    data[one]["bound"], data[other]["bound"] = data[other]["bound"], data[one]["bound"]


def claim_a_value(data: Data, rng: random.Random) -> None:
    """As if what this aggregator loses were what all lose."""
    data["value"] = copy.deepcopy(data["lower"])
    data["value"]["bound"] *= rng.choice([1, 0.5, 0.1])


def drop_a_claim(data: Data, rng: random.Random) -> None:
    del data[rng.choice(["upper", "lower", "value"])]


# ... of the witness


def entries(data: Data) -> list[Data]:
    """All objects with slopes."""
    return [leaf for entry in data["upper"]["witness"]["intervals"] for leaf in entries_of(entry)]


def entries_of(entry: Data) -> list[Data]:
    """Those of one interval, in the parts of its splits."""
    return [leaf for part in entry["parts"] for leaf in entries_of(part)] if "parts" in entry else [entry]


def rows(values: Any) -> list[list[Any]]:
    """The innermost lists."""
    return [row for part in values for row in rows(part)] if isinstance(values[0], list) else [values]


def change_slopes(data: Data, rng: random.Random) -> None:
    row = rng.choice(rows(rng.choice(entries(data))["slopes"]))
    way = rng.choice(["one", "one", "scale", "reverse", "zero", "shift", "drop", "twice"])
    place = any_item(row, rng)
    if way == "one":
        row[place] = float(moved(row[place], rng))
    elif way == "drop":
        del row[place]
    elif way == "twice":
        row.insert(place, row[place])
    else:
        factor = rng.choice([0.5, 0.9, 0.999, 1.001, 1.1, -1])
        changed = {"scale": [factor * x for x in row], "reverse": row[::-1], "zero": [0.0] * len(row)}
        row[:] = changed.get(way, [x + rng.uniform(-0.01, 0.01) for x in row])


def exchange_slopes(data: Data, rng: random.Random) -> None:
    one, other = rng.choice(entries(data)), rng.choice(entries(data))
    one["slopes"], other["slopes"] = other["slopes"], one["slopes"]
    if one is other:
        one["slopes"] = one["slopes"][::-1]


def change_knots(data: Data, rng: random.Random) -> None:
    entry = rng.choice(entries(data))
    knots, place = entry["knots"], any_item(entry["knots"], rng)
    way = rng.choice(["move", "drop", "twice", "exchange", "coarse"])
    if way == "move":
        knots[place] = float(moved(knots[place], rng))
    elif way == "twice":
        knots.insert(place, knots[place])
    elif way == "exchange":
        knots[place], knots[place - 1] = knots[place - 1], knots[place]
    else:  # a knot goes, or all that are no whole numbers, with their slopes
        keep = [k != place if way == "drop" else x == int(x) for k, x in enumerate(knots)]
        for row in [knots, *rows(entry["slopes"])]:
            row[:] = [x for x, kept in zip(row, keep, strict=True) if kept]


def change_cover(data: Data, rng: random.Random) -> None:
    intervals = data["upper"]["witness"]["intervals"]
    place = any_item(intervals, rng)
    way = rng.choice(["drop", "gap", "gap", "overlap", "twice", "order", "cut", "cut", "cut", "widen"])
    priors = intervals[place]["priors"]
    end = rng.randrange(2)
    size = rng.choice([1e-17, 1e-9, 1e-6, 1e-3, 0.1, 0.5]) * (priors[1] - priors[0])
    if way == "drop":
        del intervals[place]
    elif way in ("gap", "overlap"):
        inward = 1 if end == 0 else -1
        priors[end] += inward * size * (1 if way == "gap" else -1)
    elif way == "twice":
        intervals.insert(place, copy.deepcopy(intervals[place]))
    elif way == "order":
        intervals.reverse()
    elif way == "widen":
        intervals[:] = [intervals[place]]
        priors[:] = [float(Fraction(x)) for x in data["family"]["prior_range"]]
    else:  # an honest cut, or one with a gap
        share = rng.random()
        middle = priors[0] + share * (priors[1] - priors[0])
        second = copy.deepcopy(intervals[place])
        for left, right in zip(entries_of(intervals[place]), entries_of(second), strict=True):
            between = slopes_between(left["slopes"], share)
            set_end(left["slopes"], 1, between)
            set_end(right["slopes"], 0, between)
        priors[1], second["priors"][0] = middle, middle + rng.choice([0, size, size, -size])
        intervals.insert(place + 1, second)


def slopes_between(slopes: Any, share: float) -> Any:
    """The slopes at a prior between both ends, of each agent if they differ."""
    if isinstance(slopes[0][0], list):
        return [slopes_between(part, share) for part in slopes]
    return [x + share * (y - x) for x, y in zip(*slopes, strict=True)]


def set_end(slopes: Any, end: int, values: Any) -> None:
    """The slopes at one end of an interval."""
    if isinstance(slopes[0][0], list):
        for part, row in zip(slopes, values, strict=True):
            part[end] = list(row)
    else:
        slopes[end] = list(values)


def change_tail(data: Data, rng: random.Random) -> None:
    tails = data["upper"]["witness"]["tails"]
    end = rng.choice(sorted(tails))
    way = rng.choice(["prior", "constant", "constant", "other end", "drop", "order", "scale"])
    if way == "prior":
        tails[end]["prior"] = float(moved(tails[end]["prior"], rng))
    elif way == "constant":
        place = rng.randrange(3)
        tails[end]["constants"][place] = float(moved(tails[end]["constants"][place], rng))
    elif way == "scale":
        tails[end]["constants"] = [rng.choice([0.5, 0.9, 0.99]) * x for x in tails[end]["constants"]]
    elif way == "order":
        rng.shuffle(tails[end]["constants"])
    else:
        tail = tails.pop(end)
        if way == "other end":
            tails["low" if end == "high" else "high"] = tail
            low, high = data["family"]["prior_range"]
            data["family"]["prior_range"] = [1 - high, 1 - low]


def splits(data: Data) -> list[Data]:
    def inner(entry: Data) -> list[Data]:
        return [entry, *(split for part in entry["parts"] for split in inner(part))] if "parts" in entry else []

    return [split for entry in data["upper"]["witness"]["intervals"] for split in inner(entry)]


def change_split(data: Data, rng: random.Random) -> None:
    split = rng.choice(splits(data))
    way = rng.choice(["at", "at a knot", "end", "reverse", "same", "one", "three", "other"])
    if way == "at":
        split["at"] = float(moved(split["at"], rng))
    elif way == "at a knot":
        split["at"] = rng.choice(rng.choice(entries(data))["knots"])
    elif way == "end":
        split["end"] = "low" if split["end"] == "high" else "high"
    elif way == "reverse":
        split["parts"].reverse()
    elif way == "same":
        split["parts"] = [copy.deepcopy(rng.choice(split["parts"])) for _ in range(2)]
    elif way == "one":
        del split["parts"][0]
    elif way == "three":
        split["parts"].append(copy.deepcopy(split["parts"][0]))
    else:
        split["parts"][rng.randrange(2)] = copy.deepcopy(rng.choice(entries(data)))


def change_nodes(data: Data, rng: random.Random) -> None:
    witness = data["upper"]["witness"]
    nodes = witness[rng.choice([name for name in witness if name != "kind"])]
    logits, kappas = nodes["logits"], nodes["kappas"]
    place = any_item(logits, rng)
    way = rng.choice(["kappa", "kappa", "logit", "drop", "ends", "twice", "exchange", "scale", "few", "sides"])
    if way == "kappa":
        kappas[place] = moved(kappas[place], rng)
    elif way == "logit":
        logits[place] = float(moved(logits[place], rng))
    elif way == "drop":
        del logits[place], kappas[place]
    elif way == "ends":
        place = rng.choice([0, -1])
        del logits[place], kappas[place]
    elif way == "twice":
        logits.insert(place, logits[place])
        kappas.insert(place, kappas[place])
    elif way == "exchange":
        kappas[place], kappas[place - 1] = kappas[place - 1], kappas[place]
    elif way == "scale":
        factor = rng.choice([0.5, 0.9, 0.99, 1.01, 1.1, 2, -1])
        nodes["kappas"] = [factor * float(Fraction(x)) for x in kappas]
    elif way == "few":
        nodes["logits"], nodes["kappas"] = logits[:: len(logits) - 1], kappas[:: len(kappas) - 1]
    else:
        names = {"below": "above", "above": "below", "kind": "kind"}
        data["upper"]["witness"] = {names[name]: part for name, part in witness.items()}


def claim_the_theorem(data: Data, _: random.Random) -> None:
    data["upper"]["witness"] = {"kind": "theorem"}


# ... of the family and the aggregator


def change_prior_range(data: Data, rng: random.Random) -> None:
    low, high = (Fraction(x) for x in data["family"]["prior_range"])
    size = Fraction(rng.choice([1e-17, 1e-9, 1e-3, 0.1, 0.1, 0.3]))
    way = rng.choice(["wider", "narrower", "shifted", "all", "mirrored", "point", "to the left", "to the right"])
    ends = {
        "wider": (low - size, high + size),
        "narrower": (low + size, high - size),
        "shifted": (low + size, high + size),
        "all": (Fraction(0), Fraction(1)),
        "mirrored": (1 - high, 1 - low),
        "point": (low, low),
        "to the left": (low - size, high),
        "to the right": (low, high + size),
    }[way]
    write = rng.choice([float, str])
    data["family"]["prior_range"] = [write(min(max(end, Fraction(0)), Fraction(1))) for end in ends]


def change_agents(data: Data, rng: random.Random) -> None:
    """With structures that fit."""
    agents = rng.choice([1, 2, 3, 4, 6])
    data["family"]["agents"] = agents
    for name in ("lower", "value", "unanimous"):
        for entry in data.get(name, {}).get("mixture", []):
            if "agents" not in entry:
                entry["reports"] = (entry["reports"] * agents)[:agents]
            elif rng.random() < 0.5:
                entry["agents"][0] += agents - sum(entry["agents"])


def change_table(data: Data, rng: random.Random) -> None:
    values = data["aggregator"]["values"]
    n = len(values)
    way = rng.choice(["one", "one", "transpose", "mirror", "reverse", "larger", "smaller", "finer", "scale"])
    i, j = rng.randrange(n), rng.randrange(n)
    if way == "one":
        values[i][j] = float(moved(values[i][j], rng))
    elif way == "larger":
        data["aggregator"]["values"] = [[*row, row[-1]] for row in [*values, values[-1]]]
    elif way == "smaller":
        data["aggregator"]["values"] = [row[:-1] for row in values[:-1]]
    elif way == "finer":  # the same function, on half the distance
        places = np.arange(2 * n - 1) / 2
        once = np.array([np.interp(places, np.arange(n), row) for row in values])
        data["aggregator"]["values"] = np.array([np.interp(places, np.arange(n), row) for row in once.T]).T.tolist()
    else:
        array = np.array(values)
        changed = {"transpose": array.T, "mirror": 1 - array[::-1, ::-1], "reverse": array[::-1]}
        data["aggregator"]["values"] = changed.get(way, 0.75 * array).tolist()


def change_parameters(data: Data, rng: random.Random) -> None:
    aggregator = data["aggregator"]
    parameters = aggregator.get("phi") or (rng.choice(aggregator["pieces"]) if "pieces" in aggregator else aggregator)
    name = rng.choice([name for name in parameters if name not in ("form", "kind", "side")])
    parameters[name] = moved(parameters[name], rng)


def change_kind(data: Data, rng: random.Random) -> None:
    """Another rule under the same proof."""
    if "a" in data["aggregator"]:
        data["aggregator"]["kind"] = "beta-pool" if data["aggregator"]["kind"] == "karmarkar" else "karmarkar"
    elif "pieces" in data["aggregator"]:
        pieces = data["aggregator"]["pieces"]
        names = {"below": "above", "above": "below", "everywhere": "below"}
        for piece in pieces:
            piece["side"] = names[piece["side"]]
        if len(pieces) == 1:
            pieces.append({**pieces[0], "side": "above", "kappa": rng.choice([0.1, 0.3, 0.45])})
    else:
        data["aggregator"] = original(rng.choice(list(INDEPENDENT)))["aggregator"]


def take_a_part_of_another(data: Data, rng: random.Random) -> None:
    other = original(rng.choice(list(FINITE if oracle.finite(data) else INDEPENDENT)))
    for part in rng.sample(
        ["aggregator", "upper", "lower", "value", "unanimous", "family", "paradigm"], rng.choice([1, 1, 2])
    ):
        data[part] = other[part]


# ... of a mixture


def change_mixture(data: Data, rng: random.Random) -> None:
    mixture = data[rng.choice([name for name in ("lower", "value", "unanimous") if name in data])]["mixture"]
    place = any_item(mixture, rng)
    entry = mixture[place]
    weight = Fraction(entry["weight"])
    ways = "weight prior report twice negative zero one swap decimals halves extreme counts"
    way = rng.choice(ways.split())
    if way == "weight":
        entry["weight"] = moved(entry["weight"], rng)
    elif way == "prior":
        entry["prior"] = moved(entry["prior"], rng)
    elif way in ("report", "extreme"):
        pair, end = rng.choice(entry["reports"]), rng.randrange(2)
        pair[end] = moved(pair[end], rng) if way == "report" else rng.choice([end, entry["prior"]])
    elif way == "twice":
        mixture.append(copy.deepcopy(entry))
    elif way == "halves":
        entry["weight"] = str(weight / 2)
        mixture.append(copy.deepcopy(entry))
    elif way == "negative":
        mixture.append({**copy.deepcopy(entry), "weight": str(-weight)})
        entry["weight"] = str(2 * weight)
    elif way == "zero":
        mixture.append({**copy.deepcopy(entry), "weight": 0})
    elif way == "one":
        mixture[:] = [{**entry, "weight": rng.choice([1, "1", "3/3", 1.0])}]
    elif way == "counts" and "agents" in entry:
        entry["agents"] = rng.choice([entry["agents"][::-1], [1] * sum(entry["agents"]), [0, *entry["agents"]]])
    elif way == "counts":
        entry["agents"] = [1] * len(entry["reports"])
    elif way == "swap":
        other = mixture[place - 1]
        entry["weight"], other["weight"] = other["weight"], entry["weight"]
    else:  # the doubles next to the fractions
        entry["prior"] = float(Fraction(entry["prior"]))
        entry["reports"] = [[float(Fraction(x)) for x in pair] for pair in entry["reports"]]


# ... of a finite family


def change_joint(data: Data, rng: random.Random) -> None:
    structures = data["family"]["structures"]
    structure = rng.choice(structures)
    way = rng.choice(["move mass", "move mass", "one", "states", "agents", "structures", "merge", "report"])
    if way == "structures":
        structures.reverse()
    elif way == "report":
        data["family"]["report"] = rng.choice(["posterior", "higher-order", "decision"])
    elif "points" in structure:
        point, other = rng.choice(structure["points"]), rng.choice(structure["points"])
        if way == "merge":
            point["reports"] = other["reports"]
        elif way == "one":
            report = rng.choice(point["reports"])
            report[0] = moved(report[0], rng)
        else:
            point["mass"], other["mass"] = other["mass"], point["mass"]
    elif way == "states":
        structure["joint"].reverse()
    elif way == "agents":
        structure["joint"] = [[list(column) for column in zip(*state, strict=True)] for state in structure["joint"]]
    else:
        first, second = rng.choice(rows(structure["joint"])), rng.choice(rows(structure["joint"]))
        i, j = any_item(first, rng), any_item(second, rng)
        if way == "one":
            first[i] = moved(first[i], rng)
        else:
            part = Fraction(first[i]) * Fraction(rng.choice([1, 0.5, 1e-9]))
            first[i] = str(Fraction(first[i]) - part)
            second[j] = str(Fraction(second[j]) + part)


def change_forecasts(data: Data, rng: random.Random) -> None:
    aggregator = data["aggregator"]
    reports, forecasts = aggregator["reports"], aggregator["forecasts"]
    place = any_item(forecasts, rng)
    way = rng.choice(["one", "one", "reports", "drop", "twice", "again", "exchange", "more"])
    if way == "one":
        inner = forecasts if not isinstance(forecasts[place], list) else forecasts[place]
        at = place if inner is forecasts else any_item(inner, rng)
        inner[at] = moved(inner[at], rng)
    elif way == "reports":
        report = rng.choice(reports[place])
        report[0] = moved(report[0], rng)
    elif way == "drop":
        del reports[place], forecasts[place]
    elif way in ("twice", "again"):  # a row for the same reports, which are written in another way
        reports.append([[str(Fraction(x)) if way == "twice" else doubled(x) for x in row] for row in reports[place]])
        forecasts.append(forecasts[place - 1])
    elif way == "more":  # a row for reports that never come
        reports.append([["1/97"] * len(report) for report in reports[place]])
        forecasts.append(forecasts[place])
    else:
        forecasts[place], forecasts[place - 1] = forecasts[place - 1], forecasts[place]


def doubled(x: Any) -> str:
    """A fraction that is not in lowest terms."""
    return f"{2 * Fraction(x).numerator}/{2 * Fraction(x).denominator}"


def change_paradigm(data: Data, rng: random.Random) -> None:
    data["paradigm"] = rng.choice(["additive", "absolute", "ratio"])


def change_weights(data: Data, rng: random.Random) -> None:
    mixture = data[rng.choice(["lower", "value"])]["mixture"]
    entry = rng.choice(mixture)
    way = rng.choice(["structure", "weight", "all in one", "again"])
    if way == "structure":
        entry["structure"] = rng.choice([0, 1, 1.0, 2, -1, 0.5])
    elif way == "weight":
        entry["weight"] = moved(entry["weight"], rng)
    elif way == "again":
        entry["weight"] = str(Fraction(entry["weight"]) / 2)
        mixture.append(dict(entry))
    else:
        mixture[:] = [{"weight": "1", "structure": rng.randrange(len(data["family"]["structures"]))}]


# ... of texts, and of anything


def change_texts(data: Data, rng: random.Random) -> None:
    text = rng.choice(["minimax", "", "a" * 80, FALSE_LABEL, FALSE_LABEL, "x\ny", "\x1b[31m", "\ud800", "\u202e", "é"])
    way = rng.choice(["label", "versions", "states", "agents", "name"])
    if way == "label":
        data["label"] = text
    elif way == "versions":
        data["versions"][rng.choice(["robustpool", "python"])] = text
    elif way == "name":
        rng.choice(data["family"]["structures"])["name"] = text
    else:
        data["family"][way][0] = text


def change_anything(data: Data, rng: random.Random) -> None:
    """Some leaf of the tree: an odd value, or another number."""
    place: Any = data
    while True:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], (dict, list)):
            break
        place = place[key]
    odd: list[Any] = [None, True, False, "", "x", [], {}, 10**400, 1e308, math.nan, math.inf, "1/0", "-1/3", -0.0]
    place[key] = rng.choice(odd) if rng.random() < 0.3 else moved(place[key], rng)


FORGERIES: dict[str, Callable[[Data, random.Random], None]] = {
    function.__name__.replace("_", " "): function
    for function in (
        move_bound,
        bounds_beyond_by_an_ulp,
        exchange_bounds,
        claim_a_value,
        drop_a_claim,
        change_slopes,
        exchange_slopes,
        change_knots,
        change_cover,
        change_tail,
        change_split,
        change_nodes,
        claim_the_theorem,
        change_prior_range,
        change_agents,
        change_table,
        change_parameters,
        change_kind,
        take_a_part_of_another,
        change_mixture,
        change_joint,
        change_forecasts,
        change_paradigm,
        change_weights,
        change_texts,
        change_anything,
    )
}
