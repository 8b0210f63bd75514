"""
What a sweep shows: the value against the base rate and the number of agents
=============================================================================

What is it worth to know that the base rate is near one half? And what does one more forecaster cost? Each question needs
many designs. ``robustpool sweep`` makes them from one file of settings, which comes with the package.
"""

import tempfile
from importlib.resources import files
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from robustpool.sweeps.run import sweep

settings = Path(str(files("robustpool.sweeps") / "examples" / "value-curves.toml"))
print(settings.read_text())

# %%
# The settings ask for ten ranges of base rates and for one to four agents. In a shell this is ``robustpool sweep
# value-curves.toml --out curves``, with ``--workers 2`` for two processes; the table is then in ``curves/results.parquet``.

with tempfile.TemporaryDirectory() as folder:
    sweep(settings, Path(folder, "curves"))
    table = pd.read_parquet(Path(folder, "curves", "results.parquet"))

ranges = table[table["agents"].isna()].sort_values("prior_range_high")
counts = table[table["agents"].notna()].sort_values("agents")
ranges[["prior_range_low", "prior_range_high", "lower", "upper", "rounds_played"]]

# %%
# Two curves
# ----------
#
# The value of the game is the smallest worst-case regret that any aggregator can have. It lies between the columns ``lower``
# and ``upper``, which differ by less than a line is thick.

figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
ax.plot(ranges["prior_range_high"] - 0.5, ranges["upper"], marker="o")
ax.set(xlabel="the base rate is at most so far from 1/2", ylabel="value (square loss)", ylim=(0, None))
plt.show()

# %%
# On this grid of eleven reports it is worth nothing to know that the base rate is between 0.2 and 0.8: the worst structures
# for two agents have base rates in this range. Nearer to one half each step counts.

figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
ax.plot(counts["agents"], counts["upper"], marker="o")
ax.set(xlabel="agents", ylabel="value (square loss)", xticks=list(counts["agents"]), ylim=(0, None))
plt.show()

# %%
# A single forecaster is simply believed. Each further one adds to the regret, because the aggregator knows less and less
# of what the omniscient one knows, but each adds less than the one before.

# %%
# What this page claims
# ---------------------

value = dict(zip((ranges["prior_range_high"] - 0.5).round(2), ranges["upper"], strict=True))
steps = counts["upper"].diff().iloc[1:]
assert (table["gap"] <= 1e-5).all(), "lower and upper differ by less than a line is thick"
assert value[0.5] - value[0.3] <= 1e-5, "between 0.2 and 0.8: worth nothing"
assert value[0.3] - value[0.2] > 0.001, "between 0.3 and 0.7: worth something"
assert [*value.values()] == sorted(value.values()), "a wider range is never better"
assert value[0.05] < value[0.1] < value[0.15] < value[0.2], "nearer to one half each step counts"
assert counts["upper"].iloc[0] < 1e-9, "one forecaster is believed"
assert (steps > 0).all(), "each further one adds to the regret"
assert steps.is_monotonic_decreasing, "but less than the one before"
