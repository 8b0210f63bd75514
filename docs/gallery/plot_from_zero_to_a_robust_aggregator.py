"""
From zero to a robust aggregator
================================

Two people give you a probability for the same event. What should you forecast? This page goes from two numbers to
your own rule, with a bound on its worst case. It takes a few seconds.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robustpool as rp
from robustpool.plots import draw_aggregator, draw_convergence, draw_difference
from robustpool.wording import outward

# %%
# Two numbers
# -----------
#
# Ann says 0.7 and Bob says 0.6. The default rule combines them into one number. The plain average is shown for
# comparison.

pooled, averaged = rp.aggregate([0.7, 0.6]), rp.aggregate([0.7, 0.6], rule="mean")
print(f"robust {pooled:.3f}, average {averaged:.3f}")

# %%
# The robust rule is further from 1/2 than the average. If the two have seen different evidence and both lean the same
# way, then together they know more than either of them. How far to go depends on the probability of the event before
# anyone saw evidence (the *prior*), which you do not know.

# %%
# What can go wrong
# -----------------
#
# Somebody *omniscient*, who knows the prior and what each report means, would give another forecast. The *regret* of a
# rule is its expected squared error minus that of the omniscient. On which information structure is the regret of the
# average largest? A search looks for it. Its result is found, not proved: another structure may be worse.

worst = rp.worst_case("mean")
worst

# %%
# One of the two knows the truth. The other knows nothing and says 1/2. The average uses both. Its expected squared
# error is 1/16, while somebody who knows whom to believe has none.

regret_there = rp.regret("mean", worst.structure.to_information_structure())
print(f"regret of the average on this structure: {regret_there:.4f}")

# %%
# Your own rule
# -------------
#
# Describe what you consider possible as a family of structures. Here it is two agents whose evidence is independent
# given the truth, with reports in steps of 1/10 and priors in steps of 1/100. Then solve the game in which you choose a
# rule and nature chooses a structure.

family = rp.ConditionallyIndependent(agents=2, reports=10, priors=100)
solution = rp.solve(family, tolerance=1e-6, canonical="smooth")
solution

# %%
# There are two bounds. No rule has a worst case below the lower one, as nature's mixture shows. The worst case of this
# rule is at most the upper one. Both are about structures *on this grid*. Both were measured in floating point and are
# not proved.
#
# Optimal tables are far from unique. ``canonical="smooth"`` chose the smoothest one within the tolerance.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
draw_aggregator(solution.aggregator, axes[0])
axes[0].set_title("the design")
draw_difference(solution.aggregator, "mean", axes[1])
axes[1].set_title("the design minus the average")
plt.show()

# %%
# Left: the interpolated table. Right: its difference from the average. If both reports are on the same side of 1/2, the
# table goes further to that side. If one report is nearly certain, it follows that report.
#
# How the bounds close
# --------------------
#
# The solver above is a cutting-plane method. Algorithm 1 of [Guo2024] solves the same game with multiplicative weights.
# It needs more rounds, but each round is simple. On such a coarse grid, cutting planes finish in a round or two, shown
# as the dot.

plain = rp.solve(family, tolerance=1e-6)
learned = rp.solve(family, method="multiplicative-weights", tolerance=5e-4)
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
draw_convergence({"multiplicative weights": learned.trace, "cutting planes": plain.trace}, ax)
plt.show()

# %%
# Off the grid
# ------------
#
# People do not report in steps of 1/10. The table interpolates between its knots, and there it can be worse than on the
# grid. A search over all reports and all priors shows by how much.

off_grid = rp.worst_case(solution.aggregator)
on, off = outward(solution.upper, "ROUND_CEILING", 6), outward(off_grid.regret, "ROUND_FLOOR", 6)
print(f"on the grid   at most  {on} (measured)")
print(f"off the grid  at least {off} (found)")

# %%
# A finer grid helps. ``nature="continuous"`` designs against all reports and priors from the start. For two agents
# there is also a closed formula, the rule ``minimax``, which equals the default for two agents.

minimax = rp.get_rule("minimax")
minimax

# %%
# A proof
# -------
#
# A certificate bounds the worst case of a rule from both sides, over *all* structures of two conditionally independent
# agents: any prior, any reports, any number of signals. This bound is proved in rigorous arithmetic.

certificate = rp.certify("minimax")
certificate

# %%
# The worst case of this rule and the lower bound for every rule agree except for the last digits. So no rule is better.
#
# Anyone can check the certificate without the code that made it.

verdict = rp.verify(certificate)
print(verdict.sentence)

# %%
# Save it
# -------
#
# A design is a JSON file with its bounds, its settings and a hash. After loading it is the same function. ``robustpool
# aggregate 0.7 0.6 --rule design.json`` reads it too.

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "design.json"
    rp.save_design(solution, file)
    design = rp.load_design(file)
    forecast = rp.aggregate([0.7, 0.6], rule=file)
print(f"the design says {forecast:.3f}")
design

# %%
# What this page claims
# ---------------------
#
# The scripts of the gallery are tests. If one of these lines fails, the page above is wrong.

assert averaged < pooled < 1, "the robust rule is further from 1/2 than the average"
assert abs(worst.regret - 1 / 16) < 1e-9, "the average costs 1/16"
assert not worst.proved, "a search proves nothing"
assert abs(regret_there - worst.regret) < 1e-9, "the structure that was found has the regret that was found"
assert np.allclose(np.sort(worst.structure.reports.ravel()), [0, 0.5, 0.5, 1], atol=1e-6), "one knows all, one nothing"
assert solution.gap <= 1e-6, "the game is solved to the tolerance"
assert learned.rounds > plain.rounds, "multiplicative weights need more rounds"
assert off_grid.regret > solution.upper, "a table is worse between its knots"
assert certificate.value is not None
assert certificate.upper - certificate.value < 1e-9, "minimax is as good as any rule can be"
assert certificate.upper < off_grid.regret < worst.regret, "so it is better than this table, which beats the average"
assert verdict.verified, "the certificate is proved again"
assert np.array_equal(design.aggregator.values, solution.aggregator.values), "save and load are inverse"
