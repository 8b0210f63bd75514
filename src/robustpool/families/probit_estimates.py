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
LEAST_QUESTIONS = 5


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
        return PartialInformation(
            **{
                "agents": min(max(self.most, 2), MOST_AGENTS),
                "overlap": (self.overlap.low, 1.0),
                "information": (self.information.low, self.information.high),
                **options,
            }
        )

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

    Each question counts the same. The intervals come from drawing the questions anew.
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
    moments = np.stack((count, total, squares))[:, several].astype(np.float64)
    draws = np.random.default_rng(rng).integers(0, moments.shape[1], (RESAMPLES, moments.shape[1]))
    point = _estimates(moments[:, None])[:, 0]
    low, high = np.quantile(_estimates(moments[:, draws]), (0.025, 0.975), axis=1)
    overlap, information, prior = (Estimated(*map(float, one)) for one in zip(point, low, high, strict=True))
    typical, most = int(np.median(count[several])), int(count.max())
    return ProbitEstimates(int(several.sum()), typical, most, overlap, information, prior)


def _estimates(moments: Floats) -> Floats:
    """Overlap, information and prior from answers, sums and sums of squares by question: (3, samples, questions) -> (3, samples)."""
    n, total, squares = moments
    mean = (total / n).mean(axis=1, keepdims=True)
    within = np.mean((squares - total**2 / n) / (n - 1), axis=1)  # estimates V - C
    deviations = squares - 2 * mean * total + n * mean**2
    pairs = ((total - n * mean) ** 2 - deviations) / (n * (n - 1))
    m = n.shape[1]
    between = np.maximum(pairs.mean(axis=1) * m / (m - 1), 0.0)  # C, for a mean that was estimated
    variance = np.maximum(within + between, 1e-12)
    information = variance / (1 + variance)
    return np.stack((between / variance, information, normal_cdf(mean[:, 0] * np.sqrt(1 - information))))
