"""A certificate: bounds on an aggregator's worst-case regret with all that is needed to prove them again."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import __version__, html
from ..files import write_json
from ..verification.claims import NOUNS, claims
from ..verification.reading import LABEL
from ..verification.verify import CERTIFICATE_FORMAT, content_hash
from ..wording import between, outward
from .certifiable import rule_of

if TYPE_CHECKING:
    from ..typing import FilePath

INTERVALS = (
    "interval arithmetic on doubles, rounded outward; the cover, the bound of the tails and mixtures in exact rationals"
)
MIXTURES = "exact rationals; irrational forecasts in ball arithmetic (Arb)"
BALLS = "ball arithmetic (Arb)"
ARITHMETIC = {
    "neglect": BALLS,
    "table": "exact rationals",
    "stretched-log-odds": f"{INTERVALS}; logarithms in ball arithmetic (Arb)",
    "log-odds": "ball arithmetic (Arb); the mixture of the value in exact rationals",
    "karmarkar": f"{INTERVALS}; the function of the mean in ball arithmetic (Arb)",
    "beta-pool": f"{INTERVALS}; the function of the mean in ball arithmetic (Arb)",
}
"""Of upper bounds, by the kind of the family or of the aggregator; intervals for the others."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proved bounds. ``data`` is the content of the file, which `robustpool.verify` checks on its own."""

    data: dict[str, Any]

    @property
    def upper(self) -> float | None:
        """No structure of the family has a larger regret (expected loss or ratio, by the paradigm); None if not claimed."""
        return float(self.data["upper"]["bound"]) if "upper" in self.data else None

    @property
    def lower(self) -> float:
        """Some structure of the family has at least this one."""
        return float(self.data["lower"]["bound"])

    @property
    def value(self) -> float | None:
        """No aggregator (of a finite family: no function of the reports) has a smaller worst case; None if not claimed."""
        return float(self.data["value"]["bound"]) if "value" in self.data else None

    @property
    def unanimous(self) -> float | None:
        """No unanimous aggregator has a smaller worst case; None if not claimed.

        Unanimous: at least p where all report p > 1/2, and at most p where all report p < 1/2.
        """
        return float(self.data["unanimous"]["bound"]) if "unanimous" in self.data else None

    @property
    def words(self) -> str:
        """What is proved of the worst case, rounded outward."""
        if self.upper is None:
            return f"at least {outward(self.lower, 'ROUND_FLOOR')} (proved); no upper bound is proved"
        return f"{between(self.lower, self.upper)} (proved)"

    @property
    def arithmetic(self) -> str:
        """In which arithmetic the bounds were proved."""
        if self.data["loss"] == "log":
            return BALLS
        if "upper" not in self.data:
            return MIXTURES
        kinds = self.data["family"]["kind"], self.data["aggregator"]["kind"]
        return next((ARITHMETIC[kind] for kind in kinds if kind in ARITHMETIC), INTERVALS)

    @property
    def claims(self) -> tuple[str, ...]:
        """What is proved, in sentences."""
        return tuple(self.data["claims"])

    @property
    def claim(self) -> str:
        """The same in one text."""
        return " ".join(self.claims)

    def save(self, path: FilePath) -> None:
        """Write the file, whole or not at all."""
        write_json(path, self.data)

    def _repr_html_(self) -> html.Html:
        """In a notebook: the bounds, what they are about, and how to check them again."""
        rows = [(NOUNS[self.data["paradigm"]], self.words), ("loss", self.data["loss"])]
        for kind, bound in (("aggregator", self.value), ("unanimous aggregator", self.unanimous)):
            if bound is not None:
                rows.append((f"no {kind} below", f"{outward(bound, 'ROUND_FLOOR')}, proved"))
        rows += [*(("claim", claim) for claim in self.claims), ("arithmetic", self.arithmetic)]
        again = html.line("robustpool.verify proves it again, from these data alone.")
        return html.card("Certificate", html.facts(rows), again)

    def __repr__(self) -> str:
        """The bounds in a line."""
        return f"Certificate(lower={self.lower!r}, upper={self.upper!r}, proved)"


def write_certificate(parts: dict[str, Any], label: str | None = None) -> Certificate:
    """Put the parts (family, loss, paradigm, aggregator, the bounds) together, with claims, versions and hash."""
    formula = (
        None if parts["family"]["kind"] == "finite" else rule_of(parts["aggregator"], parts["family"]["agents"]).formula
    )
    data = {
        "format": CERTIFICATE_FORMAT,
        "claims": claims(parts, formula),
        **({"label": label} if label else {}),
        **parts,
        "versions": {"robustpool": __version__, "python": platform.python_version()},
    }
    return Certificate({**data, "hash": content_hash(data)})


def label_of(aggregator: Any) -> str | None:
    """What people call an aggregator, as far as a certificate shows it; nothing is proved of that."""
    name = str(getattr(aggregator, "name", None) or "")
    return "".join(c for c in name if c.isprintable())[:LABEL] or None
