"""The figures of the paper: numbers from the workbench, a drawing of given numbers, and what it means."""

from .aggregators import Aggregators, Differences, Weakness
from .convergence import Convergence
from .coupling import Coupling
from .figure import PaperFigure
from .lipschitz import LipschitzAggregators, LipschitzValues
from .losses import Losses
from .report_distribution import ReportDistribution
from .sensitivity import Areas, SensitivityToPrior, SensitivityToReports

GROUPS: dict[str, tuple[str, tuple[PaperFigure, ...]]] = {
    "The aggregators": (
        "What each rule says to two reports, and where it is weak.",
        (Aggregators(), Differences(), Weakness()),
    ),
    "Aggregators with a bounded slope": (
        "An L-Lipschitz aggregator changes by at most L times the change of the reports.",
        (LipschitzAggregators(), LipschitzValues()),
    ),
    "How fast the game is solved": (
        "The same game by the paper's Algorithm 1 and by cutting planes.",
        (Convergence(),),
    ),
    "Three ways to be robust": (
        "Regret may be the difference to the omniscient loss (additive), the loss itself (absolute) or the quotient (ratio).",
        (Losses(), ReportDistribution()),
    ),
    "Pictures from the proofs": (
        "Why the omniscient posterior has to be smoothed, and how a structure is moved onto a grid.",
        (SensitivityToPrior(), SensitivityToReports(), Areas(), Coupling()),
    ),
}
"""The sections of the page: title, text and figures."""

FIGURES = tuple(figure for _, figures in GROUPS.values() for figure in figures)
