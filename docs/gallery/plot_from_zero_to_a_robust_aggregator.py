"""
From zero to a robust aggregator
================================

Two people give you a probability for the same event. What should you say? This page goes from two numbers to a rule
of your own, with a bound on what it can cost you. It takes some seconds.
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
# Ann says 0.7, Bob says 0.6. Here is one number, by the default rule, and the plain average beside it.

pooled, averaged = rp.aggregate([0.7, 0.6]), rp.aggregate([0.7, 0.6], rule="mean")
print(f"robust {pooled:.3f}, average {averaged:.3f}")

# %%
# The robust rule is further from 1/2 than the average: if the two have seen different evidence, and both lean the
# same way, then together they know more than each of them. How much further is the question. It depends on how likely
# the event was to begin with (the *prior*), and nobody has told you.

# %%
# What can go wrong
# -----------------
#
# Somebody *omniscient*, who knows the prior and what each report means, would say something else than you do. The
# expected squared error of a rule, less that of the omniscient, is the rule's *regret*. On which information
# structure is the regret of the average largest? A search looks for it. What it brings is found, not proved: another
# structure may be worse.

worst = rp.worst_case("mean")
worst

# %%
# One of the two knows the truth, the other knows nothing and says 1/2; the average listens to both. Its expected
# squared error there is 1/16, where whoever knows which of the two to believe has none.

regret_there = rp.regret("mean", worst.structure.to_information_structure())
print(f"regret of the average on this structure: {regret_there:.4f}")

# %%
# A rule of your own
# ------------------
#
# Say what you hold possible, as a family of structures: here two agents whose evidence is independent given the
# truth, reports in steps of 1/10, priors in steps of 1/100. Then solve the game in which you choose a rule and nature
# chooses a structure.

family = rp.ConditionallyIndependent(agents=2, reports=10, priors=100)
solution = rp.solve(family, tolerance=1e-6, canonical="smooth")
solution

# %%
# Two bounds stand there. No rule at all has a worst case below the lower one, as nature's mixture shows; this rule
# has none above the upper one. Both are about structures *on this grid*, both were measured in floating point, and
# neither is a proof.
#
# Optimal tables are far from unique. ``canonical="smooth"`` took the smoothest one within the tolerance.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
draw_aggregator(solution.aggregator, axes[0])
axes[0].set_title("the design")
draw_difference(solution.aggregator, "mean", axes[1])
axes[1].set_title("the design less the average")
plt.show()

# %%
# On the left, the table between its knots. On the right, where it departs from the average: when both reports are on
# the same side of 1/2 it goes further to that side, and when one report is nearly certain it follows that one.
#
# How the bounds close
# --------------------
#
# The solver above is a cutting-plane method. Algorithm 1 of [Guo2024] solves the same game with multiplicative
# weights; it needs more rounds, and each of them is simple. On a grid as coarse as this, cutting planes are done in a
# round or two: that is the dot.

plain = rp.solve(family, tolerance=1e-6)
learned = rp.solve(family, method="multiplicative-weights", tolerance=5e-4)
figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
draw_convergence({"multiplicative weights": learned.trace, "cutting planes": plain.trace}, ax)
plt.show()

# %%
# Off the grid
# ------------
#
# People do not report in steps of 1/10. Between its knots the table interpolates, and there it can be worse than on
# the grid; a search over all reports and all priors says how much it found.

off_grid = rp.worst_case(solution.aggregator)
on, off = outward(solution.upper, "ROUND_CEILING", 6), outward(off_grid.regret, "ROUND_FLOOR", 6)
print(f"on the grid   at most  {on} (measured)")
print(f"off the grid  at least {off} (found)")

# %%
# A finer grid helps, and ``nature="continuous"`` designs against all reports and priors from the start. For two
# agents there is also a closed formula, the rule ``minimax``, which for two is the default.

minimax = rp.get_rule("minimax")
minimax

# %%
# A proof
# -------
#
# A certificate bounds the worst case of a rule from both sides, over *all* structures of two conditionally
# independent agents: any prior, any reports, any number of signals. This one is proved, in rigorous arithmetic.

certificate = rp.certify("minimax")
certificate

# %%
# The worst case of this rule, and what no rule can go below, are the same number but for the last digits: the rule is
# as good as any can be.
#
# Whoever gets the certificate checks it without the code that made it.

verdict = rp.verify(certificate)
print(verdict.sentence)

# %%
# Keep it
# -------
#
# A design is a JSON file, with its bounds, its settings and a hash. Loaded again it is the same function.
# ``robustpool aggregate 0.7 0.6 --rule design.json`` reads it, too.

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "design.json"
    rp.save_design(solution, file)
    design = rp.load_design(file)
    said = rp.aggregate([0.7, 0.6], rule=file)
print(f"the design says {said:.3f}")
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
