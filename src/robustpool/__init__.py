"""robustpool: design, prove and apply aggregators of probability forecasts.

>>> import robustpool as rp
>>> round(rp.aggregate([0.7, 0.6]), 3)
0.654
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .aggregators.grid import GridAggregator as GridAggregator
    from .aggregators.restrictions import Constrained as Constrained
    from .aggregators.restrictions import Lipschitz as Lipschitz
    from .aggregators.restrictions import Mirrored as Mirrored
    from .aggregators.restrictions import Monotone as Monotone
    from .aggregators.restrictions import Symmetric as Symmetric
    from .aggregators.rules import get_rule as get_rule
    from .aggregators.table import TableAggregator as TableAggregator
    from .certificates.certificate import Certificate as Certificate
    from .certificates.certify import certification as certification
    from .certificates.certify import certify as certify
    from .designs.any_aggregator import as_aggregator as as_aggregator
    from .designs.design import Design as Design
    from .designs.design_file import load_design as load_design
    from .designs.design_file import save_design as save_design
    from .errors import InputError as InputError
    from .errors import RobustpoolError as RobustpoolError
    from .errors import SolverError as SolverError
    from .errors import UnsupportedError as UnsupportedError
    from .estimator import RobustPool as RobustPool
    from .estimator import RobustVotingClassifier as RobustVotingClassifier
    from .evaluation.comparison import compare as compare
    from .evaluation.recalibration import recalibrate as recalibrate
    from .evaluation.records import Comparison as Comparison
    from .explanation.explain import explain as explain
    from .explanation.records import Explanation as Explanation
    from .families.common_source import CommonSource as CommonSource
    from .families.conditionally_independent import ConditionallyIndependent as ConditionallyIndependent
    from .families.contaminated import Contaminated as Contaminated
    from .families.correlated import Correlated as Correlated
    from .families.family_file import load_family as load_family
    from .families.family_file import save_family as save_family
    from .families.finite import FiniteFamily as FiniteFamily
    from .families.identical import Identical as Identical
    from .families.nature import Answer as Answer
    from .families.nature import Family as Family
    from .families.nature import Nature as Nature
    from .families.neglect import Neglect as Neglect
    from .families.partial_information import PartialInformation as PartialInformation
    from .families.random_families import random_family as random_family
    from .families.regret import regret as regret
    from .families.regret import regrets as regrets
    from .families.second_question import SecondQuestion as SecondQuestion
    from .families.several_states import SeveralStates as SeveralStates
    from .families.worst_case import WorstCase as WorstCase
    from .families.worst_case import weakness as weakness
    from .families.worst_case import worst_case as worst_case
    from .forecasts import ClippedWarning as ClippedWarning
    from .forecasts import ContradictionWarning as ContradictionWarning
    from .forecasts import aggregate as aggregate
    from .learning.fitting import fit as fit
    from .learning.pool_file import load_pool as load_pool
    from .learning.records import FittedPool as FittedPool
    from .losses.convex import ConvexLoss as ConvexLoss
    from .losses.loss import Loss as Loss
    from .minimax.prior_ranges import prior_range_curve as prior_range_curve
    from .minimax.prior_ranges import prior_range_rule as prior_range_rule
    from .solvers.cutting_planes import CuttingPlanes as CuttingPlanes
    from .solvers.multiplicative_weights import MultiplicativeWeights as MultiplicativeWeights
    from .solvers.solution import Solution as Solution
    from .solvers.solution import Stopped as Stopped
    from .solvers.solve import rounds as rounds
    from .solvers.solve import solve as solve
    from .structures.binary_structure import BinaryStructure as BinaryStructure
    from .structures.information_structure import InformationStructure as InformationStructure
    from .structures.shared_evidence import copied_by_all as copied_by_all
    from .structures.shared_evidence import with_public_evidence as with_public_evidence
    from .tables.pooled import PooledTable as PooledTable
    from .tables.pooling import aggregate_table as aggregate_table
    from .tables.reading import read_forecasts as read_forecasts
    from .tables.recency import weigh_by_age as weigh_by_age
    from .tables.records import ForecastTable as ForecastTable
    from .tables.records import RowsLeftOut as RowsLeftOut
    from .tables.rejecting import RowsLeftOutWarning as RowsLeftOutWarning
    from .tables.rejecting import summary_lines as summary_lines
    from .verification.verify import Verification as Verification
    from .verification.verify import verify as verify
    from .web.serve import serve as serve

# Where each public name lives; imported on first use, so that `import robustpool` costs nothing.
_HOMES = {
    "designs.any_aggregator": ("as_aggregator",),
    "designs.design": ("Design",),
    "designs.design_file": ("load_design", "save_design"),
    "aggregators.grid": ("GridAggregator",),
    "aggregators.restrictions": ("Constrained", "Lipschitz", "Mirrored", "Monotone", "Symmetric"),
    "aggregators.rules": ("get_rule",),
    "aggregators.table": ("TableAggregator",),
    "certificates.certificate": ("Certificate",),
    "certificates.certify": ("certification", "certify"),
    "errors": ("InputError", "RobustpoolError", "SolverError", "UnsupportedError"),
    "estimator": ("RobustPool", "RobustVotingClassifier"),
    "evaluation.comparison": ("compare",),
    "evaluation.recalibration": ("recalibrate",),
    "evaluation.records": ("Comparison",),
    "explanation.explain": ("explain",),
    "explanation.records": ("Explanation",),
    "forecasts": ("ClippedWarning", "ContradictionWarning", "aggregate"),
    "learning.fitting": ("fit",),
    "learning.pool_file": ("load_pool",),
    "learning.records": ("FittedPool",),
    "losses.convex": ("ConvexLoss",),
    "losses.loss": ("Loss",),
    "minimax.prior_ranges": ("prior_range_curve", "prior_range_rule"),
    "families.regret": ("regret", "regrets"),
    "families.worst_case": ("WorstCase", "weakness", "worst_case"),
    "solvers.cutting_planes": ("CuttingPlanes",),
    "solvers.multiplicative_weights": ("MultiplicativeWeights",),
    "solvers.solve": ("rounds", "solve"),
    "solvers.solution": ("Solution", "Stopped"),
    "structures.binary_structure": ("BinaryStructure",),
    "families.conditionally_independent": ("ConditionallyIndependent",),
    "families.common_source": ("CommonSource",),
    "families.contaminated": ("Contaminated",),
    "families.correlated": ("Correlated",),
    "families.identical": ("Identical",),
    "families.neglect": ("Neglect",),
    "families.partial_information": ("PartialInformation",),
    "families.second_question": ("SecondQuestion",),
    "families.several_states": ("SeveralStates",),
    "families.family_file": ("load_family", "save_family"),
    "families.nature": ("Answer", "Family", "Nature"),
    "families.finite": ("FiniteFamily",),
    "structures.information_structure": ("InformationStructure",),
    "structures.shared_evidence": ("copied_by_all", "with_public_evidence"),
    "families.random_families": ("random_family",),
    "tables.pooled": ("PooledTable",),
    "tables.pooling": ("aggregate_table",),
    "tables.reading": ("read_forecasts",),
    "tables.recency": ("weigh_by_age",),
    "tables.records": ("ForecastTable", "RowsLeftOut"),
    "tables.rejecting": ("RowsLeftOutWarning", "summary_lines"),
    "verification.verify": ("Verification", "verify"),
    "web.serve": ("serve",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *(name for name in _HOME if _HOME[name] != "estimator")]  # noqa: PLE0604  # scikit-learn is an extra


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
