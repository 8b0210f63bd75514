"""The figures of the paper, one a file: numbers from the workbench, a drawing of given numbers, and what it means."""

from .aggregators import AGGREGATORS, DIFFERENCES
from .areas import AREAS
from .convergence import CONVERGENCE
from .coupling import COUPLING
from .figure import PaperFigure
from .lipschitz import LIPSCHITZ_AGGREGATORS, LIPSCHITZ_VALUES
from .losses import LOSSES
from .report_distribution import REPORT_DISTRIBUTION
from .sensitivity import SENSITIVITY_TO_PRIOR, SENSITIVITY_TO_REPORTS
from .weakness import WEAKNESS

FIGURES: tuple[PaperFigure, ...] = (
    AGGREGATORS,
    DIFFERENCES,
    WEAKNESS,
    LIPSCHITZ_AGGREGATORS,
    LIPSCHITZ_VALUES,
    CONVERGENCE,
    LOSSES,
    REPORT_DISTRIBUTION,
    SENSITIVITY_TO_PRIOR,
    SENSITIVITY_TO_REPORTS,
    AREAS,
    COUPLING,
)
