"""Partial information of a person's own forecasters, estimated from what they said; outcomes are not needed.

Under one prior for all questions the probits have Var z = delta / (1 - delta) and Cov(z_i, z_j) = rho / (1 - delta), so

    delta = V / (1 + V),    overlap = rho / delta = C / V,    prior = Phi(mean z sqrt(1 - delta))

with the variance V and the covariance C across questions. Priors that differ between questions add to C and V: the
overlap and the information are then estimated too large. People who exaggerate look better informed than they are.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..numerics import normal_cdf, probit
from .partial_information import MOST_AGENTS, PartialInformation

if TYPE_CHECKING:
    from ..typing import Floats, Integers

CLIP = 0.01
RESAMPLES = 1000
SAME = 1e-9
"""Probits that differ by less do not vary."""
LEAST_QUESTIONS = 20


class Estimated(NamedTuple):
    """An estimate with its bootstrap interval of 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class ProbitEstimates:
    """What the probits of a table say about its forecasters, with intervals over its questions."""

    questions: int  # with two answers or more
    typical: int  # the median number of answers
    most: int
    overlap: Estimated
    information: Estimated
    prior: Estimated

    def family(self, **options: Any) -> PartialInformation:
        """The family to design for; options that are given count instead.

        The overlap reaches up to 1, so that the bounds hold for questions with fewer answers too. The priors are free:
        they differ between questions, and nobody knows how.
        """
        knowable = options.get("knowable", PartialInformation.knowable)
        if "information" not in options and self.information.value >= knowable:
            raise InputError(
                f"knowable must be above the information of one forecaster, which is estimated as "
                f"{self.information.value:.3f}; knowable is {knowable:g}. They may exaggerate: recalibrate them, or give "
                "--information yourself."
            )
        return PartialInformation(
            **{
                "agents": min(max(self.most, 2), MOST_AGENTS),
                "overlap": self._overlaps,
                "information": self._informations,
                **options,
            }
        )

    @property
    def _overlaps(self) -> tuple[float, float]:
        return self.overlap.low, 1.0

    @property
    def _informations(self) -> tuple[float, float]:
        return self.information.low, self.information.high

    def reasons(self, family: PartialInformation) -> dict[str, str]:
        """Why the ranges of a family are not the estimates, where they come from them; to be put after the ranges."""
        reasons = {}
        if family.overlap == self._overlaps:
            reasons["overlap"] = (
                "; from the low end of the estimate, which hurts most, to 1, so that fewer answers are covered"
            )
        if family.information == self._informations:
            reasons["information"] = "; the interval of the estimate"
        if family.prior_range == (0.0, 1.0):
            reasons["prior"] = "; the estimate is not used, as questions differ; --prior-range LO HI sets a range"
        return reasons

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        parts = {name: getattr(self, name)._asdict() for name in ("overlap", "information", "prior")}
        return asdict(self) | parts

    def words(self) -> dict[str, str]:
        """The same in words, with 95 % intervals."""
        answers = f"{self.typical} typically, {self.most} at most"
        return {
            "questions": f"{self.questions:,} with two answers or more",
            "answers": answers,
            "overlap": f"{self.overlap}; too high if the base rates of the questions differ",
            "information": f"{self.information}; too high if the base rates differ or people exaggerate",
            "prior": f"{self.prior}",
        }


def estimate_partial_information(
    question: Integers, probability: Floats, *, clip: float = CLIP, rng: int | np.random.Generator = 0
) -> ProbitEstimates:
    """Estimates from answers: the number of the question (rows,) and the probability (rows,) of each.

    Each question counts the same. The intervals come from drawing the questions anew. Forecasts from which nothing can be
    learnt, or which contradict the model, are refused.
    """
    _, number, count = np.unique(question, return_inverse=True, return_counts=True)
    z = probit(np.clip(probability, clip, 1.0 - clip))
    total, squares = (np.bincount(number, weights=values) for values in (z, z**2))
    several = count >= 2
    if several.sum() < LEAST_QUESTIONS:
        raise InputError(
            f"overlap and information need at least {LEAST_QUESTIONS} questions with two answers or more; there are "
            f"{several.sum()}."
        )
    certain = int(np.count_nonzero((probability <= clip) | (probability >= 1.0 - clip)))
    if np.ptp(z) < SAME:
        raise InputError(
            f"the forecasts do not vary, so nothing can be estimated; all {len(z)} are {float(probability[0]):g}."
        )
    if 2 * certain > len(z):
        raise InputError(
            f"overlap and information need forecasts that are not certain; {certain} of {len(z)} are at most {clip:g} or at "
            f"least {1 - clip:g}."
        )
    moments = np.stack((count, total, squares))[:, several].astype(np.float64)
    draws = np.random.default_rng(rng).integers(0, moments.shape[1], (RESAMPLES, moments.shape[1]))
    point = _estimates(moments[:, None])[:, 0]
    low, high = np.quantile(_estimates(moments[:, draws]), (0.025, 0.975), axis=1)
    if high[-1] < 0:
        raise InputError(
            f"the probits of two forecasters must not have a negative covariance, which partial information does not allow; it "
            f"is {point[-1]:.3g} ({low[-1]:.3g} to {high[-1]:.3g}): they contradict each other."
        )
    overlap, information, prior = (
        Estimated(*map(float, one)) for one in zip(point[:3], low[:3], high[:3], strict=True)
    )
    typical, most = int(np.median(count[several])), int(count.max())
    return ProbitEstimates(int(several.sum()), typical, most, overlap, information, prior)


def _estimates(moments: Floats) -> Floats:
    """Overlap, information, prior and C from answers, sums and sums of squares by question: (3, samples, questions) -> (4, samples).

    The first three take a negative C for 0.
    """
    n, total, squares = moments
    mean = (total / n).mean(axis=1, keepdims=True)
    within = np.mean((squares - total**2 / n) / (n - 1), axis=1)  # estimates V - C
    deviations = squares - 2 * mean * total + n * mean**2
    pairs = ((total - n * mean) ** 2 - deviations) / (n * (n - 1))
    m = n.shape[1]
    covariance = pairs.mean(axis=1) * m / (m - 1)  # C, for a mean that was estimated
    between = np.maximum(covariance, 0.0)
    variance = np.maximum(within + between, 1e-12)
    information = variance / (1 + variance)
    prior = normal_cdf(mean[:, 0] * np.sqrt(1 - information))
    return np.stack((between / variance, information, prior, covariance))
