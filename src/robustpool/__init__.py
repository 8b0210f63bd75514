"""robustpool: design, prove and apply aggregators of probability forecasts.

>>> import robustpool as rp
>>> round(rp.aggregate([0.7, 0.6]), 3)
0.654
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from .aggregators.design import Design as Design
    from .aggregators.design import as_aggregator as as_aggregator
    from .aggregators.design import load_design as load_design
    from .aggregators.grid import GridAggregator as GridAggregator
    from .aggregators.restrictions import Constrained as Constrained
    from .aggregators.restrictions import Lipschitz as Lipschitz
    from .aggregators.restrictions import Mirrored as Mirrored
    from .aggregators.restrictions import Monotone as Monotone
    from .aggregators.restrictions import Symmetric as Symmetric
    from .aggregators.rules import get_rule as get_rule
    from .aggregators.table import TableAggregator as TableAggregator
    from .artefact import save_design as save_design
    from .certificates.certificate import Certificate as Certificate
    from .certificates.front_door import certification as certification
    from .certificates.front_door import certify as certify
    from .errors import InputError as InputError
    from .errors import RobustpoolError as RobustpoolError
    from .errors import SolverError as SolverError
    from .errors import UnsupportedError as UnsupportedError
    from .estimator import RobustPool as RobustPool
    from .estimator import RobustVotingClassifier as RobustVotingClassifier
    from .evaluation.comparison import compare as compare
    from .evaluation.recalibration import recalibrate as recalibrate
    from .evaluation.records import Comparison as Comparison
    from .explanation import Explanation as Explanation
    from .explanation import explain as explain
    from .forecasts import ClippedWarning as ClippedWarning
    from .forecasts import ContradictionWarning as ContradictionWarning
    from .forecasts import aggregate as aggregate
    from .game.losses import ConvexLoss as ConvexLoss
    from .game.regret import regret as regret
    from .game.regret import regrets as regrets
    from .game.weakness import weakness as weakness
    from .game.worst_case import WorstCase as WorstCase
    from .game.worst_case import worst_case as worst_case
    from .solvers.front_door import solve as solve
    from .solvers.solution import Solution as Solution
    from .solvers.solution import Stopped as Stopped
    from .structures.binary_structure import BinaryStructure as BinaryStructure
    from .structures.conditionally_independent import ConditionallyIndependent as ConditionallyIndependent
    from .structures.family_file import load_family as load_family
    from .structures.family_file import save_family as save_family
    from .structures.finite import FiniteFamily as FiniteFamily
    from .structures.information_structure import InformationStructure as InformationStructure
    from .structures.random_families import random_family as random_family
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

# Where each public name lives; imported on first use, so that `import robustpool` costs nothing.
_HOMES = {
    "aggregators.design": ("Design", "as_aggregator", "load_design"),
    "aggregators.grid": ("GridAggregator",),
    "aggregators.restrictions": ("Constrained", "Lipschitz", "Mirrored", "Monotone", "Symmetric"),
    "aggregators.rules": ("get_rule",),
    "aggregators.table": ("TableAggregator",),
    "artefact": ("save_design",),
    "certificates.certificate": ("Certificate",),
    "certificates.front_door": ("certification", "certify"),
    "errors": ("InputError", "RobustpoolError", "SolverError", "UnsupportedError"),
    "estimator": ("RobustPool", "RobustVotingClassifier"),
    "evaluation.comparison": ("compare",),
    "evaluation.recalibration": ("recalibrate",),
    "evaluation.records": ("Comparison",),
    "explanation": ("Explanation", "explain"),
    "forecasts": ("ClippedWarning", "ContradictionWarning", "aggregate"),
    "game.losses": ("ConvexLoss",),
    "game.regret": ("regret", "regrets"),
    "game.weakness": ("weakness",),
    "game.worst_case": ("WorstCase", "worst_case"),
    "solvers.front_door": ("solve",),
    "solvers.solution": ("Solution", "Stopped"),
    "structures.binary_structure": ("BinaryStructure",),
    "structures.conditionally_independent": ("ConditionallyIndependent",),
    "structures.family_file": ("load_family", "save_family"),
    "structures.finite": ("FiniteFamily",),
    "structures.information_structure": ("InformationStructure",),
    "structures.random_families": ("random_family",),
    "tables.pooled": ("PooledTable",),
    "tables.pooling": ("aggregate_table",),
    "tables.reading": ("read_forecasts",),
    "tables.recency": ("weigh_by_age",),
    "tables.records": ("ForecastTable", "RowsLeftOut"),
    "tables.rejecting": ("RowsLeftOutWarning", "summary_lines"),
    "verification.verify": ("Verification", "verify"),
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
