"""Who answers a table with cuts: nature on a finite family, and nature with two conditionally independent agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.restrictions import Mirrored, Restriction, Symmetric, lay_out
from ..errors import UnsupportedError
from ..game.losses import Log, Square
from ..game.nature import NatureResponse, best_response, best_response_any_prior
from ..game.tables import Tables
from ..structures.report_formats import Posterior
from .master_programme import Cuts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..game.finite_game import FiniteGame
    from ..game.losses import Loss
    from ..structures.conditionally_independent import ConditionallyIndependent

    Floats = NDArray[np.float64]

MOST_CUTS = 300


@dataclass(frozen=True, eq=False)
class FiniteNature:
    """A finite family: one pass finds the payoff of every structure; the largest become cuts."""

    game: FiniteGame

    @property
    def tables(self) -> Tables:
        """See Nature."""
        return self.game.tables

    def first_table(self) -> Floats:
        """The best response to the uniform mixture, where nothing forbids it; else the nearest table."""
        return self.tables.feasible(self.tables.default)

    def answer(self, table: Floats) -> tuple[float, Cuts]:
        """See Nature."""
        payoffs = self.game.payoffs(table)
        count = min(MOST_CUTS, len(payoffs))
        worst = np.argpartition(-payoffs, count - 1)[:count]
        return float(payoffs.max()), self.cuts(worst[np.argsort(-payoffs[worst], kind="stable")])

    def cuts(self, numbers: NDArray[np.int64]) -> Cuts:
        """Some structures of the family as cuts; the label is the structure's number."""
        game, start = self.game, self.game.family.start
        sizes = start[numbers + 1] - start[numbers]
        slot = np.arange(int(sizes.max()))[None]
        inside = slot < sizes[:, None]
        point = np.where(inside, start[numbers][:, None] + slot, 0)
        return Cuts(
            label=numbers[:, None].astype(np.float64),
            cell=np.where(inside, game.cell[point], 0).astype(np.int32),
            mass=np.where(inside[:, :, None], game.mass[point], 0.0),
            scale=game.scale[numbers],
            offset=game.offset[numbers],
        )
