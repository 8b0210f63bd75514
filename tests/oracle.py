"""What is true of a certificate, from the definitions, with nothing of the verifier.

Mixtures and finite families are computed with fractions; rules that are no rational functions, and the search for a worst
case, in plain doubles. The search only finds structures that exist, so what it attains refutes any smaller upper bound.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations, product
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betainc, expit, logit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rule = Callable[[Floats], Floats]  # reports (profiles, agents) to forecasts

Data = dict[str, Any]
ROUNDING = 1e-12  # of the doubles here
STARTS, ROUNDS = 4000, 12  # of the search for two agents


def falsehood(data: Data) -> str | None:
    """The first claim of a certificate that is false, or None."""
    names = ("upper", "lower", "value", "unanimous")
    bounds = {name: Fraction(data[name]["bound"]) for name in names if name in data}
    most = bounds.get("upper", inf)
    if bounds.get("lower", -inf) > most or bounds.get("value", -inf) > most:
        return "a lower bound lies above the upper one"
    if "upper" in bounds and (attained := worst_case(data)) > most + slack(data):
        return f"a structure costs {float(attained)!r}, more than {float(most)!r}"
    for name, exact in (("lower", expected), ("value", least), ("unanimous", least_unanimous)):
        if name in bounds and bounds[name] > (truth := exact(data, data[name]["mixture"])) + slack(data):
            return f"{name} is {float(bounds[name])!r}, but the truth is {float(truth)!r}"
    return None


def slack(data: Data) -> float:
    """How far the doubles here may be wrong: not at all on a finite family."""
    return 0.0 if finite(data) else ROUNDING


def finite(data: Data) -> bool:
    """Whether the structures are listed."""
    return bool(data["family"]["kind"] == "finite")


def worst_case(data: Data) -> Fraction | float:
    """What some structure of the family costs the aggregator; on a finite family the worst of them."""
    return max(payoffs(data)) if finite(data) else search(data)


def expected(data: Data, mixture: list[Data]) -> Fraction | float:
    """The aggregator's expected payoff under a mixture."""
    check_distribution([entry["weight"] for entry in mixture])
    if finite(data):
        paid = payoffs(data)
        return sum(Fraction(entry["weight"]) * paid[int(entry["structure"])] for entry in mixture)
    mixture = in_every_order(mixture)
    for entry in mixture:
        low, high = map(Fraction, data["family"]["prior_range"])
        assert low <= Fraction(entry["prior"]) <= high, "a prior of the mixture is not one of the family"
        assert len(entry["reports"]) == data["family"]["agents"], "a structure has another number of agents"
    exact = exact_rule(data["aggregator"])
    if exact is not None:
        return sum(Fraction(entry["weight"]) * exact_regret(entry, exact) for entry in mixture)
    function, total = rule(data["aggregator"]), 0.0
    for entry in mixture:
        prior, reports = float(Fraction(entry["prior"])), [[float(Fraction(x)) for x in p] for p in entry["reports"]]
        total += float(Fraction(entry["weight"])) * float(regrets(function, np.array([prior]), np.array([reports]))[0])
    return total


def least(data: Data, mixture: list[Data]) -> Fraction:
    """The expected payoff of the best answer to a mixture: the posterior given the reports, evaluated as a rule."""
    check_distribution([entry["weight"] for entry in mixture])
    if finite(data):
        return finite_least(data, mixture)
    return least_independent(mixture, unanimous=False)


def least_unanimous(data: Data, mixture: list[Data]) -> Fraction:
    """The same of the best answer that is unanimous."""
    assert not finite(data), "unanimous aggregators are those of independent agents"
    check_distribution([entry["weight"] for entry in mixture])
    return least_independent(mixture, unanimous=True)


def in_every_order(mixture: list[Data]) -> list[Data]:
    """Entries that count their agents, written out in every order."""
    entries = []
    for entry in mixture:
        if "agents" not in entry:
            entries.append(entry)
            continue
        assert all(type(count) is int and count > 0 for count in entry["agents"]), "agents are counted in whole numbers"
        counted = zip(entry["reports"], entry["agents"], strict=True)
        pairs = [tuple(map(Fraction, pair)) for pair, count in counted for _ in range(count)]
        orders = sorted(set(permutations(pairs)))
        weight = Fraction(entry["weight"]) / len(orders)
        entries += [{"weight": weight, "prior": entry["prior"], "reports": order} for order in orders]
    return entries


def least_independent(mixture: list[Data], *, unanimous: bool) -> Fraction:
    """The expected regret of the posterior or, if all report p, of the forecast next to it on the far side of p from 1/2."""
    mixture = in_every_order(mixture)
    masses: dict[tuple[Fraction, ...], list[Fraction]] = {}
    for entry in mixture:
        for reports, no, yes in profiles(entry):
            mass = masses.setdefault(reports, [Fraction(0), Fraction(0)])
            mass[0] += Fraction(entry["weight"]) * no
            mass[1] += Fraction(entry["weight"]) * yes
    posterior = {reports: yes / (no + yes) for reports, (no, yes) in masses.items()}
    for reports, own in posterior.items():
        if unanimous and len(set(reports)) == 1 and reports[0] != Fraction(1, 2):
            nearest = max if reports[0] > Fraction(1, 2) else min
            posterior[reports] = nearest(own, reports[0])
    return sum((Fraction(e["weight"]) * exact_regret(e, posterior.__getitem__) for e in mixture), Fraction(0))


def check_distribution(weights: list[Any]) -> None:
    """Positive, and 1 together."""
    exact = [Fraction(weight) for weight in weights]
    assert min(exact) > 0, "a weight is not positive"
    assert sum(exact) == 1, "weights do not sum to 1"


def uncovered(data: Data) -> Fraction | None:
    """A prior of the range that a witness with intervals says nothing about, neither of it nor of its mirror image.

    A gap that is narrow makes no bound false that can be seen; but nothing is proved there.
    """
    witness = data.get("upper", {}).get("witness", {})
    if witness.get("kind") != "dual":
        return None
    closed = [tuple(Fraction(x) for x in entry["priors"]) for entry in witness["intervals"]]
    closed += [(Fraction(0), Fraction(tail["prior"])) for end, tail in witness["tails"].items() if end == "low"]
    closed += [(1 - Fraction(tail["prior"]), Fraction(1)) for end, tail in witness["tails"].items() if end == "high"]
    first, last = (Fraction(x) for x in data["family"]["prior_range"])
    if first + last == 1:
        closed += [(1 - high, 1 - low) for low, high in closed]
    ends = sorted({first, last, *(end for pair in closed for end in pair if first <= end <= last)})
    between = [(x + y) / 2 for x, y in pairwise(ends)]
    return next((x for x in [*ends, *between] if not any(low <= x <= high for low, high in closed)), None)


# ----------------------------------------------------------------------------------- conditionally independent agents


def profiles(entry: Data) -> list[tuple[tuple[Fraction, ...], Fraction, Fraction]]:
    """The reports x that can come, with Pr[x, 0] and Pr[x, 1]."""
    mu, agents = Fraction(entry["prior"]), []
    for low, high in ([Fraction(x) for x in pair] for pair in entry["reports"]):
        assert 0 <= low <= mu <= high <= 1, "reports do not surround the prior"
        if low == high:
            agents.append([(mu, Fraction(1), Fraction(1))])
            continue
        chance = (mu - low) / (high - low)  # of the high report, whatever the state
        agents.append([(x, q * (1 - x) / (1 - mu), q * x / mu) for x, q in ((high, chance), (low, 1 - chance))])
    found = []
    for signals in product(*agents):
        no = (1 - mu) * prod((signal[1] for signal in signals), start=Fraction(1))
        yes = mu * prod((signal[2] for signal in signals), start=Fraction(1))
        if no + yes > 0:
            found.append((tuple(signal[0] for signal in signals), no, yes))
    return found


def exact_regret(entry: Data, forecast: Callable[[tuple[Fraction, ...]], Fraction]) -> Fraction:
    """The expected square loss, less that of the posterior given both reports."""
    total = Fraction(0)
    for reports, no, yes in profiles(entry):
        f, g = forecast(reports), yes / (no + yes)
        total += no * (f**2 - g**2) + yes * ((1 - f) ** 2 - (1 - g) ** 2)
    return total


def exact_rule(aggregator: Data) -> Callable[[tuple[Fraction, ...]], Fraction] | None:
    """The rule on fractions, where it is a rational function."""
    if aggregator["kind"] == "grid":
        values = [[Fraction(x) for x in row] for row in aggregator["values"]]
        n = len(values) - 1

        def table(reports: tuple[Fraction, ...]) -> Fraction:
            first, second = ([max(Fraction(0), 1 - abs(n * x - k)) for k in range(n + 1)] for x in reports)
            parts = (a * b * values[i][j] for i, a in enumerate(first) for j, b in enumerate(second) if a and b)
            return sum(parts, Fraction(0))

        return table
    if aggregator["kind"] == "mean":
        return lambda reports: sum(reports, Fraction(0)) / len(reports)
    if aggregator["kind"] != "prior-estimate":
        return None

    def by_prior(reports: tuple[Fraction, ...]) -> Fraction:
        total = sum(reports, Fraction(0))
        (piece,) = [p for p in aggregator["pieces"] if p["side"] in ("everywhere", "above" if total > 1 else "below")]
        m = Fraction(piece["kappa"]) * total + Fraction(piece["delta"])
        yes, no = prod(reports) * (1 - m), prod(1 - x for x in reports) * m
        return yes / (yes + no) if yes + no else Fraction(int(total > 1))

    return by_prior


def rule(aggregator: Data) -> Rule:
    """The rule on arrays of doubles."""
    kind = aggregator["kind"]
    if kind == "grid":
        values = np.array(aggregator["values"], dtype=float)
        n = len(values) - 1

        def table(x: Floats) -> Floats:
            cell = np.minimum((n * x).astype(int), n - 1)
            (i, j), (a, b) = cell.T, (n * x - cell).T
            low = (1 - b) * values[i, j] + b * values[i, j + 1]
            return np.asarray((1 - a) * low + a * ((1 - b) * values[i + 1, j] + b * values[i + 1, j + 1]))

        return table
    if kind in ("mean", "geometric-mean"):
        return lambda x: x.mean(axis=1) if kind == "mean" else np.sqrt(x.prod(axis=1))
    if kind == "beta-pool":
        a = float(Fraction(aggregator["a"]))
        return lambda x: np.asarray(betainc(a, a, x.mean(axis=1)))
    if kind == "karmarkar":
        return lambda x: np.asarray(expit(float(Fraction(aggregator["a"])) * logit(x.mean(axis=1))))
    if kind == "log-odds":
        return summed({name: float(Fraction(x)) for name, x in aggregator["phi"].items() if name != "form"})

    def by_prior(x: Floats) -> Floats:
        total = x.sum(axis=1)
        m = np.full(len(x), np.nan)
        for piece in aggregator["pieces"]:
            side = {"below": total <= 1, "above": total > 1, "everywhere": total >= 0}[piece["side"]]
            m[side] = float(Fraction(piece["kappa"])) * total[side] + float(Fraction(piece["delta"]))
        yes, no = x.prod(axis=1) * (1 - m), (1 - x).prod(axis=1) * m
        return np.divide(yes, yes + no, out=(total > 1).astype(float), where=yes + no > 0)

    return by_prior


def summed(phi: dict[str, float]) -> Rule:
    """A function of the sum of the log-odds."""

    def forecast(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            s = logit(x).sum(axis=1)
            s = np.where(np.isnan(s), 0.0, s)  # 0 meets 1: it never happens
            if "alpha" in phi:
                return np.asarray(expit(phi["alpha"] * s - phi["shift"]))
            return np.asarray(expit(s * (phi["a"] + phi["b"] * np.tanh(s / phi["k"]) ** 2)))

    return forecast


def regrets(function: Rule, prior: Floats, reports: Floats) -> Floats:
    """The regret on structures (structures, agents, low and high), from the definition."""
    low, high = reports[..., 0], reports[..., 1]
    width = high - low
    chance = np.divide(prior[:, None] - low, width, out=np.zeros_like(low), where=width > 0)
    total = np.zeros(len(prior))
    for signals in product((False, True), repeat=low.shape[1]):
        x = np.where(signals, high, low)
        q = np.where(signals, chance, 1 - chance)
        yes = prior * (q * x / prior[:, None]).prod(axis=1)
        no = (1 - prior) * (q * (1 - x) / (1 - prior)[:, None]).prod(axis=1)
        g = np.divide(yes, yes + no, out=np.zeros(len(prior)), where=yes + no > 0)
        total += np.where(yes + no > 0, (yes + no) * (function(x) - g) ** 2, 0.0)
    return total


def search(data: Data) -> float:
    """A large regret that some structure of the family has: from the mixtures, from extremes and by chance, then uphill."""
    function, agents = rule(data["aggregator"]), int(data["family"]["agents"])
    ends = [float(Fraction(x)) for x in data["family"]["prior_range"]]
    first, last = max(ends[0], 1e-9), min(ends[1], 1 - 1e-9)
    rng, count = np.random.default_rng(3), max(24, STARTS >> agents)

    def measured(points: Floats) -> tuple[Floats, Floats]:
        """Points (prior, share of the way from it to 0 and to 1 for each agent), all within [0, 1] and the range."""
        points = np.clip(points, 0, 1)
        points[:, 0] = np.clip(points[:, 0], first, last)
        prior, shares = points[:, 0], points[:, 1:].reshape(len(points), agents, 2)
        low, high = prior[:, None] * (1 - shares[..., 0]), prior[:, None] + (1 - prior[:, None]) * shares[..., 1]
        with np.errstate(all="ignore"):  # a forged rule may be none, with parameters that no verifier takes
            return points, regrets(function, prior, np.stack((low, high), axis=2))

    half = count // 2
    priors = np.concatenate((rng.uniform(first, last, half), ends, first + (last - first) * rng.random(half) ** 6))
    shares = rng.choice([0.0, 1.0, np.nan], size=(len(priors), 2 * agents))
    shares = np.where(np.isnan(shares), rng.random(shares.shape), shares)
    points = np.column_stack((priors, shares))
    mixtures = [in_every_order(data.get(name, {}).get("mixture", [])) for name in ("lower", "value")]
    own = [coordinates(entry) for mixture in mixtures for entry in mixture]
    points = np.concatenate((points, [point for point in own if len(point) == points.shape[1]])) if own else points
    points, found = measured(points)
    scale = 0.2
    for _ in range(ROUNDS):
        best = points[np.argsort(-found)[: max(8, count // 40)]]
        moved = np.repeat(best, 8, axis=0)
        moved += rng.normal(size=moved.shape) * scale * rng.choice([0.0, 1.0], size=moved.shape)
        more, regret = measured(moved)
        points, found, scale = np.concatenate((points, more)), np.concatenate((found, regret)), 0.6 * scale
    return float(np.nanmax(found))


def coordinates(entry: Data) -> list[float]:
    """A structure of a mixture as a point of the search."""
    mu = Fraction(entry["prior"])
    pairs = [[Fraction(x) for x in pair] for pair in entry["reports"]]
    return [float(mu), *(float(share) for low, high in pairs for share in ((mu - low) / mu, (high - mu) / (1 - mu)))]


# ------------------------------------------------------------------------------------------------------ finite families

Reports = tuple[tuple[Fraction, ...], ...]
Points = list[tuple[Reports, list[Fraction]]]


def structures(data: Data) -> list[Points]:
    """The signal profiles that can come, of each structure: what is reported there, and Pr[s, omega]."""
    family = data["family"]
    states = len(family["states"])
    found = []
    for entry in family["structures"]:
        if family["report"] == "listed":
            points = [
                (tuple(tuple(Fraction(x) for x in r) for r in p["reports"]), [Fraction(m) for m in p["mass"]])
                for p in entry["points"]
            ]
        else:
            joint = {s: [flat(entry["joint"][w])[s] for w in range(states)] for s in flat(entry["joint"][0])}
            joint = {s: mass for s, mass in joint.items() if sum(mass) > 0}
            points = [(reported(joint, s, family["report"]), mass) for s, mass in joint.items()]
        assert all(m >= 0 for _, mass in points for m in mass), "a probability is negative"
        assert sum(sum(mass) for _, mass in points) == 1, "probabilities do not sum to 1"
        found.append(points)
    return found


def normalised(mass: list[Fraction]) -> list[Fraction]:
    """The distribution that is proportional to this."""
    total = sum(mass, Fraction(0))
    return [m / total for m in mass]


def flat(nested: Any, at: tuple[int, ...] = ()) -> dict[tuple[int, ...], Fraction]:
    """The entries of nested lists by their places."""
    if not isinstance(nested, list):
        return {at: Fraction(nested)}
    return {place: x for i, part in enumerate(nested) for place, x in flat(part, (*at, i)).items()}


def reported(joint: dict[tuple[int, ...], list[Fraction]], signals: tuple[int, ...], report: str) -> Reports:
    """What the agents say at a signal profile."""

    def belief(agent: int, signal: int) -> list[Fraction]:
        seen = [mass for s, mass in joint.items() if s[agent] == signal]
        total = [sum(column) for column in zip(*seen, strict=True)]
        return normalised(total)

    def said(distribution: list[Fraction]) -> list[Fraction]:
        return distribution[1:] if len(distribution) == 2 else distribution

    reports = []
    for agent, signal in enumerate(signals):
        own = belief(agent, signal)
        if report == "decision":
            likeliest = own.index(max(own))
            reports.append(tuple(said([Fraction(int(k == likeliest)) for k in range(len(own))])))
            continue
        parts = said(own)
        if report == "higher-order":
            seen = {s: sum(mass) for s, mass in joint.items() if s[agent] == signal}
            for other in range(len(signals)):
                if other != agent:
                    told = [[p * x for x in said(belief(other, s[other]))] for s, p in seen.items()]
                    parts = parts + [sum(column) / sum(seen.values()) for column in zip(*told, strict=True)]
        reports.append(tuple(parts))
    return tuple(reports)


def loss(points: Points, forecast: Callable[[Reports, list[Fraction]], list[Fraction]]) -> Fraction:
    """The expected square loss: (f - omega)^2 for two states, |f - e_omega|^2 for more."""
    total = Fraction(0)
    for reports, mass in points:
        f = forecast(reports, mass)
        length = sum((y * y for y in f), Fraction(0))
        for y, m in zip(f, mass, strict=True):
            square = length - 2 * y + 1  # |f - e_omega|^2
            total += m * (square / 2 if len(f) == 2 else square)
    return total


def payoff(points: Points, forecasts: dict[Reports, list[Fraction]], paradigm: str) -> Fraction | float:
    """What nature gets from one structure."""
    own = loss(points, lambda reports, _: forecasts[reports])
    omniscient = loss(points, lambda _, mass: normalised(mass))
    if paradigm == "ratio":
        return own / omniscient if omniscient else Fraction(1) if not own else inf
    return own - omniscient if paradigm == "additive" else own


def payoffs(data: Data) -> list[Fraction | float]:
    """What nature gets from each structure."""
    table, states = data["aggregator"], len(data["family"]["states"])
    forecasts = {}
    for profile, forecast in zip(table["reports"], table["forecasts"], strict=True):
        f = [1 - Fraction(forecast), Fraction(forecast)] if states == 2 else [Fraction(x) for x in forecast]
        assert min(f) >= 0, "a forecast is negative"
        assert sum(f) == 1, "a forecast does not sum to 1"
        forecasts[tuple(tuple(Fraction(x) for x in report) for report in profile)] = f
    assert len(forecasts) == len(table["reports"]), "reports are listed twice"
    return [payoff(points, forecasts, data["paradigm"]) for points in structures(data)]


def finite_least(data: Data, mixture: list[Data]) -> Fraction:
    """The expected payoff of the best function of the reports, found first and evaluated then."""
    chosen, paradigm = structures(data), data["paradigm"]
    masses: dict[Reports, list[Fraction]] = {}
    for entry in mixture:
        points = chosen[int(entry["structure"])]
        scale = Fraction(entry["weight"])
        if paradigm == "ratio":
            scale /= loss(points, lambda _, mass: normalised(mass))
        for reports, mass in points:
            old = masses.get(reports, [Fraction(0)] * len(mass))
            masses[reports] = [x + scale * m for x, m in zip(old, mass, strict=True)]
    best = {reports: normalised(mass) for reports, mass in masses.items()}
    return Fraction(sum(Fraction(e["weight"]) * payoff(chosen[int(e["structure"])], best, paradigm) for e in mixture))
