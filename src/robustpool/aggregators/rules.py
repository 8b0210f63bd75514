"""The rules by name: what each computes, where it comes from, and the numbers that it takes.

The formulas themselves stand in `robustpool.aggregators.pools`, in the notation that is explained there.

>>> rule = get_rule("extremized-odds:d=2")
>>> rule([[0.7, 0.6], [0.0, 0.4], [0.0, 1.0], [np.nan, np.nan]]).round(4)
array([0.7778, 0.    , 0.5   ,    nan])
>>> rule.formula
'f = sigma(d s/n)'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np
import numpy.typing as npt

from .. import html
from ..errors import InputError
from ..typing import Floats
from ..wording import between, outward
from . import pools
from .rows import Rows, answers, blocks, contradictory
from .worst_cases import OVER, worst_case_on_record

Pool: TypeAlias = Callable[..., Floats]


@dataclass(frozen=True)
class Formula:
    """What a rule computes, whatever its parameters are."""

    pool: Pool = field(repr=False)
    formula: str
    source: str
    takes_weights: bool = True
    averages: bool = False  # of probabilities: 0 and 1 are numbers like others to it, and decide nothing
    extremises: bool = True  # it goes beyond the average of the reports where these agree
    world: str | None = None  # what it is made for, as --world names it; None: independent evidence


@final
@dataclass(frozen=True)
class Rule(Formula):
    """A named aggregator: call it with reports of shape (m, n), get forecasts of shape (m,).

    Reports are probabilities, or NaN where an agent did not answer. A row without answers gives NaN. A certain report
    is taken at its word as far as the formula does so in the limit: `geometric-odds` of (0, 0.4) is 0, `mean` is 0.2.
    A row with both a 0 and a 1 contradicts itself and gives 0.5, unless the rule averages probabilities, to which they are numbers.

    >>> get_rule("mean")([[0.0, 0.4], [0.2, np.nan]])
    array([0.2, 0.2])
    """

    name: str = field(kw_only=True)  # the canonical text: `get_rule(name)` gives this rule again
    parameters: Mapping[str, float] = field(kw_only=True, hash=False)

    def __call__(self, reports: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Floats:
        """Pool each row of reports: (m, n) -> (m,); weights of the agents, (n,) or (m, n), are positive."""
        table = np.asarray(reports, dtype=np.float64)
        if table.ndim != 2:
            raise InputError(f"reports must have the shape (questions, agents); the shape is {table.shape}.")
        if weights is not None and not self.takes_weights:
            raise InputError(f"rule {self.name} does not accept weights.")
        by_agent = None if weights is None else np.broadcast_to(np.asarray(weights, dtype=np.float64), table.shape)
        forecasts = np.empty(len(table))
        with np.errstate(divide="ignore", over="ignore"):  # log 0 = -inf and d s = inf are what the formulas mean
            for block in blocks(table):
                forecasts[block] = self._pooled(table[block], None if by_agent is None else by_agent[block])
        return forecasts

    def one(self, reports: Sequence[float]) -> float:
        """The forecast for one question with reports strictly between 0 and 1; quicker than a table with one row.

        >>> get_rule("geometric-odds").one([0.2, 0.8])
        0.5
        """
        with np.errstate(divide="ignore", over="ignore"):
            forecast = self.pool(Rows(np.array([reports]), complete=True), **self.parameters).item()
        return min(max(forecast, pools.LEAST), pools.MOST)

    def _pooled(self, block: Floats, weights: Floats | None) -> Floats:
        """Pool rows that fit into the cache; in most blocks nobody is missing and nobody is certain."""
        if block.size and block.min() > 0 and block.max() < 1:  # NaN fails
            columns = np.asfortranarray(block)  # sums over the agents are fast
            uncertain = self.pool(Rows(columns, weights, complete=True), **self.parameters)
            return np.clip(
                uncertain, pools.LEAST, pools.MOST
            )  # in doubles it might be 0 or 1, which the formula is not
        at_odds = np.zeros(len(block), dtype=bool) if self.averages else contradictory(block)
        usual = (answers(block) > 0) & ~at_odds
        forecasts = np.where(at_odds, 0.5, np.nan)
        rows = Rows(np.asfortranarray(block[usual]), None if weights is None else weights[usual])
        forecasts[usual] = self.pool(rows, **self.parameters)
        uncertain = ~((block == 0) | (block == 1)).any(axis=1)
        forecasts[uncertain] = np.clip(forecasts[uncertain], pools.LEAST, pools.MOST)
        return forecasts

    def __repr__(self) -> str:
        """The call that gives it again."""
        return f"get_rule({self.name!r})"

    def _repr_html_(self) -> html.Html:
        """In a notebook: the formula, the source, the worst case as far as it is known, and a heat map."""
        parameters = ", ".join(f"{key} = {value:g}" for key, value in self.parameters.items())
        facts = [
            ("formula", self.formula),
            *([("parameters", parameters)] if parameters else []),
            ("source", self.source),
            ("worst-case regret", _worst_case_text(self.name)),
        ]
        x = html.reports_grid()
        picture = html.heatmap(self(x.reshape(-1, 2)).reshape(x.shape[:2]))
        return html.card(f"Rule {self.name}", html.facts(facts), picture)


def _worst_case_text(name: str) -> str:
    """What is known of the worst case of a rule for two agents with independent private evidence, and how."""
    known = worst_case_on_record(name)
    if known.lower is not None and known.upper is not None:
        return f"{between(known.lower, known.upper, 9)}, proved for {OVER}"
    if known.found is None:
        return "not listed for these parameters; robustpool.worst_case searches, robustpool.certify proves"
    found = outward(known.found, "ROUND_FLOOR", 9)
    return f"at least {found}, found by search for {OVER}, not proved"


@final
@dataclass(frozen=True)
class Parameter:
    """A number that a rule takes: the interval it must lie in, and its default (None: it has to be given).

    >>> print(Parameter(0, 0.5, "[)", default=0.1))
    [0, 0.5)
    >>> print(Parameter(0, 1, "[]", default=1, whole=True))
    {0, 1}
    """

    low: float
    high: float
    brackets: str = "()"
    default: float | None = None
    whole: bool = False  # it takes only whole numbers; the interval is closed

    def __contains__(self, value: float) -> bool:
        """Whether a value lies in the interval; NaN never does."""
        left = self.low <= value if self.brackets[0] == "[" else self.low < value
        right = value <= self.high if self.brackets[1] == "]" else value < self.high
        return left and right and (not self.whole or value == round(value))

    def __str__(self) -> str:
        """Write the interval, or the whole numbers in it."""
        if self.whole:
            return f"{{{', '.join(map(str, range(round(self.low), round(self.high) + 1)))}}}"
        return f"{self.brackets[0]}{self.low:g}, {self.high:g}{self.brackets[1]}"


@final
@dataclass(frozen=True)
class Definition(Formula):
    """A line of the catalogue: a rule whose parameters are not yet set."""

    parameters: Mapping[str, Parameter] = field(default_factory=dict, hash=False)


def _positive(default: float) -> Parameter:
    return Parameter(0, np.inf, default=default)


RULES: Mapping[str, Definition] = {
    "robust": Definition(
        pools.robust,
        "n = 1: f = x; n > 1: logit f = L (1 + (2p - 1)^2/5), L = s/n, p = sigma(L)",
        "robustpool: for n = 2 it is minimax, proved to attain the lower bound of [Arieli2018]",
    ),
    "minimax": Definition(
        pools.minimax,
        "n = 1: f = x; n = 2: logit f = s (1/2 + b tanh(s/4)^2); n > 2: logit f = mean (a l + c sgn(l) e^2), e = max(|l| - t, 0), "
        "a = max(1, 1 + 0.31 ln(n/7)), t = max(1, 1.7 - n/10), c = 0.6 - 1.2/n^2; "
        "for unanimous = 0 and 3 <= n <= 10: logit f = s (alpha + gamma tanh(s/k)^2) + beta sum sgn(l) e^2/(e + d), six numbers for each n",
        "robustpool: proved to attain the lower bound of [Arieli2018] for n = 2; for n = 3 and 4 proved to be within 5e-5 and 5e-4 of "
        "the least worst case that a unanimous rule can have, for n = 5 and 6 a search found no more than that",
        parameters={
            "b": Parameter(0.08, 0.9, "[)", default=0.1),
            "unanimous": Parameter(0, 1, "[]", default=1, whole=True),
        },
    ),
    "minimax-log": Definition(
        pools.minimax_log,
        "n = 1: f = x; n = 2: logit f = s - 1.5 tanh(s/3.5056); n > 2: logit f = mean (a l + c sgn(l) e^2) + b s tanh(s/k)^2, "
        "e = max(|l| - t, 0), five numbers for each n; for summed = 1: logit f = s - c tanh(s/k), two numbers for each n",
        "robustpool, for the log loss: proved to attain the lower bound for n = 2, found for n = 3; under the square loss use minimax",
        parameters={"summed": Parameter(0, 1, "[]", default=0, whole=True)},
    ),
    "mean": Definition(
        pools.mean, "f = mean x", "[Guo2024, Table 1], simple averaging", averages=True, extremises=False
    ),
    "median": Definition(
        pools.median, "f = median x", "[Baron2014]", takes_weights=False, averages=True, extremises=False
    ),
    "trimmed-mean": Definition(
        pools.trimmed_mean,
        "f = mean x without the floor(share n) smallest and as many largest reports",
        "Jose and Winkler, International Journal of Forecasting 24 (2008); default share: 10 % a side",
        parameters={"share": Parameter(0, 0.5, "[)", default=0.1)},
        takes_weights=False,
        averages=True,
        extremises=False,
    ),
    "geometric-mean": Definition(
        pools.geometric_mean,
        "f = (prod x)^(1/n), not normalised",
        "GeoMean of aggreCAT; Hanea et al., PLOS ONE 16 (2021)",
        extremises=False,
    ),
    "geometric-odds": Definition(
        pools.geometric_odds, "f = sigma(s/n)", "[Satopaa2014], with bias a = 1", extremises=False
    ),
    "extremized-odds": Definition(
        pools.extremized_odds,
        "f = sigma(d s/n)",
        "[Satopaa2014], bias a = d; default: the middle of the range 1.161 to 3.921 that they fit",
        parameters={"d": _positive(2.5)},
    ),
    "neyman-odds": Definition(
        pools.neyman_odds,
        "f = sigma(d s/n), d = n (sqrt(3n^2 - 3n + 1) - 2)/(n^2 - n - 1)",
        "[Neyman2022], projective substitutes; applied to log-odds by Sevilla, EA Forum (2021)",
    ),
    "karmarkar": Definition(
        pools.karmarkar,
        "f = p^a/(p^a + (1-p)^a), p = mean x",
        "[Karmarkar1978], of the mean as in [Baron2014]; default: as for extremized-odds, no value is canonical",
        parameters={"a": _positive(2.5)},
        averages=True,
    ),
    "beta-pool": Definition(
        pools.beta_pool,
        "f = I_p(a, a), p = mean x",
        "[RanjanGneiting2010]; default: BetaArMean of aggreCAT, Hanea et al., PLOS ONE 16 (2021)",
        parameters={"a": _positive(6.0)},
        averages=True,
    ),
    "product": Definition(
        pools.product,
        "f = sigma(s) = prod x/(prod x + prod (1-x))",
        "[Bordley1982], independent evidence with prior 1/2",
    ),
    "bordley": Definition(
        pools.bordley, "f = sigma(s - (n-1) logit prior)", "[Bordley1982]", parameters={"prior": Parameter(0, 1)}
    ),
    "average-prior": Definition(
        pools.average_prior, "f = sigma(s - (n-1) logit mean x)", "[Arieli2018]; [Guo2024, Table 1]"
    ),
    "arieli-tuned": Definition(
        pools.arieli_tuned,
        "f = sigma(s - (n-1) logit ep), ep = 0.98 mean x, plus 0.02 where mean x > 1/2",
        "[Arieli2018]; [Guo2024, Table 1], state of the art for n = 2; for more, the same estimate of the prior",
    ),
    "log-odds": Definition(
        pools.scaled_log_odds,
        "f = sigma(alpha s - shift)",
        "[arXiv2604.24517]; default: tuned for two agents; with a shift for base rates in a range, see rp.prior_range_rule",
        parameters={"alpha": _positive(0.5168), "shift": Parameter(-np.inf, np.inf, default=0.0)},
    ),
    "common-source": Definition(
        pools.common_source,
        "n = 1: f = x; n = 2: logit f = 0.3222 sum log((d + o)/(d + 1/o)) + 0.1661 s tanh(s/1.4104)^2, o = x/(1-x), d = 0.1908; "
        "n > 2: logit f = mean (a l + c sgn(l) max(|l| - t, 0)^2) + kappa s tanh(s/k)^2, five numbers for each n",
        "robustpool: for agents who share a source that may be wrong, [arXiv2604.24517] with unknown state values",
        world="common-source",
    ),
}
"""All rules in the order in which they are listed; the first is the default."""


def get_rule(name: str) -> Rule:
    """Look up a rule by its name, with parameters as in ``extremized-odds:d=2.5``, several with commas between.

    Raises `InputError` if the rule or a parameter is not known, missing or out of its range.

    >>> get_rule("karmarkar:a=2").parameters
    {'a': 2.0}
    >>> get_rule("karmarkar:a=2.5").name  # the default
    'karmarkar'
    """
    stem, colon, settings = name.partition(":")
    stem = stem.strip()
    if stem not in RULES:
        from difflib import get_close_matches

        closest = "".join(f", and the closest is {rule!r}" for rule in get_close_matches(stem.lower(), RULES, n=1))
        raise InputError(f"rule must be one of {', '.join(RULES)}; it is {stem!r}{closest}.")
    definition = RULES[stem]
    parameters = _parameters(stem, definition.parameters, _settings(name, settings) if colon else {})
    changed = [(key, value) for key, value in parameters.items() if value != definition.parameters[key].default]
    written = ",".join(f"{key}={value!r}".removesuffix(".0") for key, value in changed)
    canonical = f"{stem}:{written}" if written else stem
    return Rule(**{**vars(definition), "name": canonical, "parameters": parameters})


def _settings(name: str, text: str) -> dict[str, str]:
    """Read ``a=1,b=2`` as {"a": "1", "b": "2"}."""
    settings: dict[str, str] = {}
    for item in text.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise InputError(f"a rule's parameter must be written as name=number; {item!r} in {name!r} is not.")
        if key in settings:
            raise InputError(f"a rule's parameter must be given once; {key} in {name!r} is given twice.")
        settings[key] = value
    return settings


def _parameters(stem: str, known: Mapping[str, Parameter], given: Mapping[str, str]) -> dict[str, float]:
    for key in given:
        if key not in known:
            raise InputError(f"rule {stem} has no parameter {key!r}; it takes {', '.join(known) or 'none'}.")
    return {key: _value(stem, key, parameter, given.get(key)) for key, parameter in known.items()}


def _value(stem: str, key: str, parameter: Parameter, text: str | None) -> float:
    if text is None:
        if parameter.default is None:
            raise InputError(f"rule {stem} needs the parameter {key} in {parameter}, written as {stem}:{key}=0.3.")
        return parameter.default
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"parameter {key} of rule {stem} must be a number; it is {text!r}.") from None
    if value not in parameter:
        raise InputError(f"parameter {key} of rule {stem} must lie in {parameter}; it is {text}.")
    return value
