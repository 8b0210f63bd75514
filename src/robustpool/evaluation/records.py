"""The result of comparing rules on forecasts with outcomes, as plain data.

All intervals are 95 % intervals. Scores are losses: smaller is better. Unless stated otherwise, a score is the mean over
questions, each counting once, whatever the number of its answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ..wording import counted

if TYPE_CHECKING:
    from ..learning.records import FittedPool


class Interval(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


class Verdict(StrEnum):
    """How a rule did against another one on the same questions."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"
    REFERENCE = "reference"  # it is the other one


class Decomposition(NamedTuple):
    """score = reliability - resolution + uncertainty, by isotonic recalibration [Dimitriadis2021]."""

    reliability: float  # what perfect recalibration would save
    resolution: float  # what the recalibrated forecasts save against the base rate
    uncertainty: float  # what the base rate costs


class CurvePoint(NamedTuple):
    """An end of a step of the isotonic reliability diagram."""

    forecast: float
    frequency: float  # recalibrated: how often the event happened


@dataclass(frozen=True)
class RuleScore:
    """How a rule did."""

    name: str
    recalibration: str  # "none", or what was done to the individuals before the rule
    brier: Interval
    brier_by_forecast: Interval  # each question counts by the number of its answers
    log: Interval  # infinite where a certain forecast was wrong
    certain_and_wrong: int  # questions with an infinite log score
    decomposition: Decomposition  # of the Brier score
    log_decomposition: Decomposition | None  # None where the log score is infinite
    slope: Interval | None  # of the logistic regression of the outcome on the forecast's log-odds; None: not available
    intercept: Interval | None
    auc: float | None  # None where all outcomes are the same
    sharpness: float  # variance of the forecasts
    difference: Interval  # Brier score minus that of the reference rule, paired
    verdict: Verdict  # against the reference rule
    tied_with_best: bool  # the paired difference to the best rule has 0 in its interval
    stands_out: bool  # significantly better than the reference, even allowing for the number of rules that were tried
    curve: tuple[CurvePoint, ...] = field(repr=False)
    histogram: tuple[float, ...] = field(default=(), repr=False)  # share of the forecasts in each of 20 equal bins


@dataclass(frozen=True)
class Individuals:
    """How the individual forecasters did, before any rule."""

    brier: float  # mean over questions of the mean over their answers
    slope: Interval | None  # of all answers together, each counting once
    intercept: Interval | None
    certain: float  # share of the answers that are exactly 0 or 1
    dependence: Interval | None  # correlation of two forecasters' log-odds on a question, given the outcome
    stretch: Interval | None
    """By how much the mean log-odds of the answers that a rule combines should be stretched: the slope, without an intercept,
    of the outcome on them, each question counting once. None: not available."""
    curve: tuple[CurvePoint, ...] = field(repr=False)
    histogram: tuple[float, ...] = field(default=(), repr=False)  # share of the answers in each of 20 equal bins
    one_answer: int = 0  # questions with a single answer, which say nothing about the dependence and are left out of it


@dataclass(frozen=True)
class Comparison:
    """Rules scored on forecasts with outcomes, what the individuals look like, and advice in plain words."""

    questions: int  # with an outcome, and with enough answers
    left_out: int  # questions without an outcome, or (pairs) with fewer than two answers
    forecasters: int
    answers: int
    clusters: int | None  # resampled together; None: each question is its own
    base_rate: float
    base_rate_brier: float  # of always forecasting the mean outcome of the other clusters; NaN if there are no others
    up_to_two: float  # share of the questions on which a rule combines two answers at most
    up_to_three: float  # the same for three
    pairs: int | None  # up to this many random pairs per question; None: all answers of a question at once
    clip: float  # rules in which a certain report decides saw reports in [clip, 1 - clip]
    seed: int
    draws: int  # of the bootstrap
    reference: str  # the rule that the differences are taken to
    individuals: Individuals
    rules: tuple[RuleScore, ...]  # best first
    recalibrated: tuple[RuleScore, ...]  # the same after cross-fitted recalibration of the individuals; best first
    unscored: dict[str, str]  # rules that could not be scored, and why
    advice: tuple[str, ...]  # sentences
    recommended: str  # what the advice says to use: a rule, or "fitted"; empty if nothing can be used
    pair_sample: tuple[tuple[float, float, int], ...] = field(repr=False)  # some pairs with their outcome, to draw
    notes: tuple[str, ...] = ()  # what was done to the data and might surprise a reader
    clipped: int = 0  # answers outside [clip, 1 - clip], if a rule that was scored sees them clipped
    timed: bool = False  # the table has times, so people and questions may have changed
    fitted: FittedPool | None = None  # learned from these questions, and scored on those that it had not seen
    options: int | None = None
    """The largest number of options that a question has; None: yes and no. With options a Brier score is the sum over the
    options, from 0 to 2; a slope is the power that the distributions should be raised to, and has no intercept; the base rate
    is how often the most frequent outcome came true, NaN if options differ from question to question."""

    @property
    def reference_score(self) -> RuleScore:
        """The rule that the others are compared with."""
        return next(rule for rule in self.rules if rule.name == self.reference)

    def __repr__(self) -> str:
        """How much was compared and which rule did best, in a line."""
        best = f", best {self.rules[0].name}" if self.rules else ""
        return f"Comparison({counted(self.questions, 'question')}, {counted(self.answers, 'answer')}, {len(self.rules)} rules{best})"
