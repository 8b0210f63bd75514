"""
The paper's Section 7
=====================

This page repeats the numerical section of [Guo2024] at a size that takes seconds: reports in steps of 1/10 and priors
in steps of 1/100, where the paper has 1/20 and 1/400. All numbers are computed here, except those of the paper and the
proofs that come with the package. Each number is marked as *proved*, *measured* or *found*.

``robustpool reproduce all`` computes the tables and figures at full size.
"""

import json

import matplotlib.pyplot as plt
import numpy as np

import robustpool as rp
from robustpool.aggregators.worst_cases import WORST_CASES
from robustpool.families.finite_game import omniscient_losses
from robustpool.losses import get_loss
from robustpool.plots import (
    draw_aggregator,
    draw_difference,
    draw_losses,
    draw_value_by_lipschitz,
    draw_weakness,
)
from robustpool.reproduction.figures.losses import bands
from robustpool.wording import between, outward

family = rp.ConditionallyIndependent(agents=2, reports=10, priors=100)
solution = rp.solve(family, canonical="smooth")
solution

# %%
# Table 1: what the rules can cost
# --------------------------------
#
# The paper estimates the worst-case regret of three rules and of its own table with a global search. Such a search
# gives a lower bound, because there may be worse structures than the one it found. The table below shows the result of
# our search and the proved bounds, over all priors, all reports and any number of signals. The bounds come with the
# package, and ``robustpool certify`` proves them again.

published = {"mean": 0.0625, "average-prior": 0.0260, "arieli-tuned": 0.0250}
proved = {name: known for name, known in json.loads(WORST_CASES.read_text()).items() if name in [*published, "minimax"]}
found = {name: rp.worst_case(name).regret for name in proved}
for name, bounds in proved.items():
    printed = f"{published[name]:.4f}" if name in published else "  -   "
    searched = outward(found[name], "ROUND_FLOOR", 7)
    print(f"{name:14} paper {printed}   found {searched}   proved {between(bounds['lower'], bounds['upper'], 7)}")

# %%
# ``minimax`` is not in the paper. It is a closed formula whose worst case is the value of the two-agent problem,
# (5 √5 - 11)/8.
#
# The last row of Table 1 is the paper's table, with 0.0226 at 1/20 and 1/400. The table solved above has about 0.0225
# on its own grid, and more between its knots. This is the cost of a coarse grid.

value = (5 * 5**0.5 - 11) / 8
between_knots = rp.worst_case(solution.aggregator).regret
on, off = outward(solution.upper, "ROUND_CEILING", 6), outward(between_knots, "ROUND_FLOOR", 6)
print(f"the table, on its grid     at most  {on} (measured)")
print(f"the table, off its grid    at least {off} (found)")
print(f"any rule at all, anywhere  at least {outward(value, 'ROUND_FLOOR', 6)} (proved)")

# %%
# What the aggregators look like
# ------------------------------
#
# The colours go from 0 (dark) to 1 (light), as in the paper. All rules except the average follow a report that is
# nearly certain.

names = ["mean", "average-prior", "arieli-tuned"]
shown = {**{name: rp.get_rule(name) for name in names}, "the table": solution.aggregator}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
for (name, aggregator), ax in zip(shown.items(), axes, strict=True):
    draw_aggregator(aggregator, ax, bar=name == "the table")
    ax.set_title(name)
plt.show()

# %%
# The differences show more. They are positive where the table is above the rule.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
for name, ax in zip(names, axes, strict=True):
    draw_difference(solution.aggregator, name, ax, limit=0.3, bar=name == names[-1])
    ax.set_title(f"the table minus {name}")
plt.show()

# %%
# Where an aggregator is weak
# ---------------------------
#
# How bad can the structure be, given these two reports? The figure shows the largest regret over the structures of the
# family that can produce them. The average is weak at the border, where one agent is nearly certain. The table has no
# point as weak as those of the two other rules: nature has no place to attack that is much better than the others.

weak = {
    name: rp.weakness(aggregator, family.report_grid, family.prior_grid[1:-1]) for name, aggregator in shown.items()
}
for name, values in weak.items():
    print(f"{name:14} weakest spot {outward(values.max(), 'ROUND_CEILING', 5)} (measured, on this grid)")
figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")
for (name, values), ax in zip(weak.items(), axes, strict=True):
    draw_weakness(values, ax, bar=name == "the table")
    ax.set_title(name)
plt.show()

# %%
# Three paradigms
# ---------------
#
# Which quantity should be small: the loss minus the omniscient loss (additive), the loss itself (absolute), or the loss
# divided by the omniscient loss (ratio)? Here is the game on the same family under each of them.

paradigms = {paradigm: rp.solve(family, paradigm=paradigm) for paradigm in ("additive", "absolute", "ratio")}
for paradigm, run in paradigms.items():
    heaviest, weight = run.mixture.heaviest(1)[0]
    print(f"{paradigm:9} value {between(run.lower, run.upper, 6)} (measured)")
    print(f"{'':9} nature: {heaviest} (weight {weight:.2f})")

# %%
# Under the absolute paradigm nature chooses the structure in which nobody knows anything, and no rule can help. Under
# the ratio she chooses structures in which the omniscient is almost never wrong. Under the additive one she has to find
# a structure on which a good rule errs and the omniscient does not.
#
# The figure shows all structures of the family, sorted by the omniscient loss (the solid line). The band is the loss of
# the aggregator that is best under the paradigm. The dashed line is the loss at which a structure becomes the worst
# case. Where the band touches it, nature attacks.

structures = family.enumerate().flat
omniscient = omniscient_losses(structures, get_loss("square"))

figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for (paradigm, run), ax in zip(paradigms.items(), axes, strict=True):
    losses = rp.regrets(run.aggregator, structures, paradigm="absolute")
    draw_losses(bands(paradigm, omniscient, losses, groups=150), ax)
    ax.set_title(paradigm)
plt.show()

# %%
# This figure shows the cost of each of the three aggregators under the additive paradigm, on the same structures. The
# other two paradigms leave most of the table undetermined, so their tables are arbitrary choices among many. Where
# nothing decides, the solver keeps its starting point, the geometric mean of the odds.

additive = {paradigm: rp.regrets(run.aggregator, structures).max() for paradigm, run in paradigms.items()}
for paradigm, regret in additive.items():
    at_most = outward(regret, "ROUND_CEILING", 5)
    print(f"made for {paradigm:9} worst additive regret on the grid {at_most} (measured)")

# %%
# What smoothness costs
# ---------------------
#
# If the reports move by some distance, an L-Lipschitz aggregator moves by at most L times that distance. The figure
# shows the value of the game when only such aggregators are allowed. The paper has about 0.024 for L up to 4. On this
# grid, as on the paper's, the value is below 0.0230 from L = 2 on (:doc:`/theory/slips`).

constants = [0.5, 1, 1.5, 2, 3, 4, 8]
smooth = {L: rp.solve(family, lipschitz=L, tolerance=1e-5) for L in constants}
curve = {
    "L": constants,
    "lower": [smooth[L].lower for L in constants],
    "upper": [smooth[L].upper for L in constants],
    "interpolated": [rp.worst_case(smooth[L].aggregator).regret for L in constants],
    "unrestricted": [solution.upper],
}
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
draw_value_by_lipschitz(curve, ax)
plt.show()

# %%
# A steeper aggregator can follow a nearly certain report more closely. In the middle they are similar.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
for L, ax in zip((1, 2, 4), axes, strict=True):
    draw_aggregator(smooth[L].aggregator, ax, bar=L == 4)
    ax.set_title(f"{L}-Lipschitz")
plt.show()

# %%
# What this page claims
# ---------------------
#
# The scripts of the gallery are tests. If one of these lines fails, the page above is wrong.

assert all(abs(found[name] - published[name]) < 5.1e-5 for name in published), "Table 1 is found again"
assert all(bounds["proved"] for bounds in proved.values()), "and proved"
assert all(bounds["lower"] - 1e-12 <= found[name] <= bounds["upper"] + 1e-12 for name, bounds in proved.items())
assert abs(proved["minimax"]["upper"] - value) < 1e-12, "minimax is as good as any rule can be"
assert solution.lower < value < between_knots, "the table: about the best on its grid, and worse off the grid"
assert sorted(weak, key=lambda name: weak[name].max()) == ["the table", "arieli-tuned", "average-prior", "mean"]
assert abs(paradigms["absolute"].upper - 0.25) < 1e-6, "nobody knows anything: a quarter"
assert paradigms["absolute"].mixture.heaviest(1)[0][0] == "prior 0.5, reports 0.5 or 0.5, 0.5 or 0.5"
assert all(run.gap <= 1e-6 for run in paradigms.values())
assert additive["additive"] <= min(additive.values()) + 1e-6, "best for what it was made for"
assert abs(curve["upper"][0] - 1 / 16) < 1e-6, "at L = 1/2 nothing is better than the average"
assert (np.diff(curve["upper"]) < 1e-5).all(), "more freedom never costs anything, up to the tolerance"
assert smooth[2].upper < 0.0230
