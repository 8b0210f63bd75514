"""What somebody who knows the base rate would say, and at which base rate she agrees with a forecast.

Conditionally independent agents with reports x_1, ..., x_n and the prior mu have the omniscient posterior

    logit g = s - (n-1) logit mu,    s = sum_i logit x_i                                      [Guo2024, Lemma 3.2]

so that a forecast f is hers at the one prior with

    logit mu = (s - logit f) / (n-1)

and f = 1/2 is where logit mu = s / (n-1). As mu rises g falls. Any prior strictly between 0 and 1 can produce any reports
strictly between 0 and 1; a report of 0 or 1 decides, whatever the prior; one agent alone already says the posterior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numerics import logit, sigma
from ..structures.binary_structure import omniscient_posterior

if TYPE_CHECKING:
    from ..typing import Floats


def base_rate_matters(x: Floats) -> bool:
    """Whether there are two or more reports and none is certain."""
    return x.size > 1 and bool(((x > 0) & (x < 1)).all())


def posterior(prior: float, x: Floats) -> float:
    """The omniscient posterior g at a prior in [0, 1]; at the ends its limit."""
    if 0 < prior < 1:
        return float(omniscient_posterior(prior, x[None])[0])
    return 1.0 - prior if base_rate_matters(x) else posterior(0.5, x)


def prior_of(forecast: float, x: Floats) -> float | None:
    """The prior at which the omniscient says ``forecast``: logit mu = (s - logit f) / (n-1)."""
    if not (base_rate_matters(x) and 0 < forecast < 1):
        return None
    z = (logit(x).sum() - logit(np.array(forecast))) / (x.size - 1)
    prior = float(sigma(z))
    return prior if 0 < prior < 1 else None
