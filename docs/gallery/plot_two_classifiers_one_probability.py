"""
Two classifiers, one probability
================================

Two classifiers give you a probability for the same event. Is their mean the best combination? This page uses images of
handwritten digits, which come with scikit-learn. The answer depends on what the two classifiers see. If they see
different pixels, a robust rule clearly beats the mean. If one sees nearly the same pixels as the other, there is almost
nothing to gain. The page needs ``pip install 'robustpool[sklearn]'`` and takes a few seconds.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

import robustpool as rp
from robustpool.plots import draw_differences, draw_pairs, draw_reliability
from robustpool.views.comparison_page import write_comparison

# %%
# The members
# -----------
#
# An image has eight rows and eight columns of pixels. Each member is a logistic regression that sees some of them.

images, digit = load_digits(return_X_y=True)
images = images / 16  # ink from 0 to 1
row, column = np.divmod(np.arange(64), 8)
views = {
    "left half": column < 4,
    "right half": column >= 4,
    "white squares": (row + column) % 2 == 0,
    "black squares": (row + column) % 2 == 1,
    "six columns": column < 6,
    "all pixels": column < 8,
}


def seeing(view):
    """A logistic regression that sees the pixels of a view."""
    return make_pipeline(make_column_transformer(("passthrough", view)), LogisticRegression(solver="newton-cholesky"))


members = [(name, seeing(view)) for name, view in views.items()]

# %%
# ``RobustVotingClassifier`` fits the members, calibrates each of them by cross-fitting, and combines their
# probabilities. Its ``transform`` returns the probabilities before they are combined. We use it to get each member's
# probability that the digit is odd, for images that it was not fitted on.


def say(odd, calibration="isotonic"):
    """What the members say about images that neither they nor their calibration have seen: a column for each."""
    vote = rp.RobustVotingClassifier(members, calibration=calibration, cv=3).set_output(transform="pandas")
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(images, odd)
    said = [vote.fit(images[seen], odd[seen]).transform(images[new]).set_axis(new) for seen, new in folds]
    return pd.concat(said).sort_index()


odd = digit % 2
said = say(odd)
said.head()

# %%
# The table of forecasts has one row per image, one column per forecaster, and the outcome.


def forecasts(said, outcome, *names):
    """The forecasts of some members, with outcomes, as `rp.compare` reads them."""
    return said[list(names)].assign(question_id=said.index, outcome=outcome)


# %%
# Different pixels
# ----------------
#
# One member sees the left half of the image, the other the right half. Neither half contains all the information, and
# the halves have little information in common. This is close to the assumption of ``minimax``: calibrated forecasters
# whose evidence is independent given the truth.

apart = rp.compare(forecasts(said, odd, "left half", "right half"))
print("\n".join(apart.advice))

# %%
# The figure shows each rule's Brier score minus that of the mean, with a 95 % bootstrap interval over images. Left of
# the line a rule is better. ``minimax`` is not the best here. ``product`` is the best: it is exact if the evidence is
# independent and the event happens in half of all cases, as odd digits do. ``minimax`` does not know this and allows
# any base rate.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
draw_differences(apart.rules, axes[0])
draw_pairs(rp.get_rule("minimax"), apart.pair_sample[:200], axes[1])
plt.show()

# %%
# Right: the forecast of ``minimax`` for two reports, with images placed by the reports of the two members. Where both
# members lean to the same side they are mostly right, and more often than either of them says.

figure, ax = plt.subplots(figsize=(4.2, 4.4), layout="constrained")
shown = {score.name: score for score in apart.rules if score.name in ("mean", "minimax")}
curves, bars = ({name: getattr(score, part) for name, score in shown.items()} for part in ("curve", "histogram"))
draw_reliability(curves, ax, histograms=bars)
plt.show()

# %%
# The mean of two calibrated forecasts is not calibrated. It is under-confident, as the figure shows. The robust rule is
# further from 1/2.
#
# Nearly the same pixels
# ----------------------
#
# Now one member sees all pixels, and the other sees all but the last two columns. The first knows almost everything
# that the second knows. A second opinion then adds little, and going further from 1/2 than both is not justified.

nested = rp.compare(forecasts(said, odd, "six columns", "all pixels"))
print("\n".join(nested.advice))

# %%
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
draw_differences(nested.rules, ax)
plt.show()

# %%
# The report for a colleague is one HTML file. It begins with the advice above.

with tempfile.TemporaryDirectory() as folder:
    page = Path(folder, "nested.html")
    write_comparison(nested, page)
    report = page.read_text(encoding="utf-8")

# %%
# Other splits
# ------------
#
# One set-up that works is weak evidence. So here are another question (is the digit 5 or more?), another calibration,
# two members that see the white and the black squares of a chessboard, and two members of which one sees only half of
# what the other sees. *Dependence* is the correlation of the members' log-odds given the outcome, *slope* is above 1 if
# members are under-confident, and *alone* is the better member without the other.

pairs = [
    ("left half", "right half"),
    ("white squares", "black squares"),
    ("six columns", "all pixels"),
    ("left half", "all pixels"),
]
questions = {"odd": odd, "5 or more": (digit >= 5).astype(int)}
tried = []
for question, outcome in questions.items():
    for calibration in ("isotonic", "sigmoid"):
        every = said if (question, calibration) == ("odd", "isotonic") else say(outcome, calibration)
        for pair in pairs:
            found = rp.compare(
                forecasts(every, outcome, *pair), rules=["mean", "minimax"], recalibrate="none", draws=1000
            )
            score = {rule.name: rule for rule in found.rules}
            tried.append(
                {
                    "question": question,
                    "calibration": calibration,
                    "members": ", ".join(pair),
                    "dependence": found.individuals.dependence.value,
                    "slope": found.individuals.slope.value,
                    "alone": min(np.mean((every[name] - outcome) ** 2) for name in pair),
                    "mean": score["mean"].brier.value,
                    "minimax": score["minimax"].brier.value,
                    "low": score["minimax"].difference.low,
                    "high": score["minimax"].difference.high,
                    "verdict": str(score["minimax"].verdict),
                }
            )
tried = pd.DataFrame(tried).set_index(["members", "question", "calibration"]).sort_index()
print(tried.round(4).to_string())

# %%
# - **Halves**: ``minimax`` beats the mean in every line, by more than its interval.
# - **Squares of a chessboard** share no pixel either, but neighbouring pixels carry the same information, and the
#   dependence is several times larger. The gain is smaller, and for odd digits its interval ends less than 0.001 from
#   zero. Different evidence matters, not different columns of the table.
# - **Nearly the same pixels**: the difference from the mean is below 0.001 in every line. In three lines it is not
#   significant. In one ``minimax`` is better.
# - **Half of the pixels, and all**: this is also nested, but here ``minimax`` beats the mean. It leans towards the more
#   extreme report, and of two calibrated members the better informed one is more extreme. But the member that sees all
#   pixels is better alone than both rules. If you know that one forecaster knows everything that the other knows, do
#   not combine them.
#
# So "nested" alone does not mean that there is nothing to gain over the mean. The dependence says more, and the
# calibration matters: if members are under-confident, every rule that goes further from 1/2 has an advantage, whatever
# they have seen.
#
# Before writing this page we tried some more cases, which would take too long here. Top and bottom halves, and odd and
# even columns of pixels: ``minimax`` is better in all four lines each. A quarter of the pixels within a half: as with
# half within all. The same pixels twice, with another penalty (``C`` of 0.1 or 10 for one member): not significant in
# seven lines of eight, and a gain of 0.0004 in the other. Five folds for the calibration instead of three: two verdicts
# change, those of nearly the same pixels for odd digits. ``minimax`` is then better there too, by 0.0005 or less.

# %%
# What this page claims
# ---------------------
#
# The scripts of the gallery are tests. If one of these lines fails, the page above is wrong.

agreed = said.loc[(said[["left half", "right half"]] > 0.6).all(axis=1), ["left half", "right half"]]
in_apart, in_nested = ({score.name: score for score in found.rules} for found in (apart, nested))
halves, squares = tried.loc["left half, right half"], tried.loc["white squares, black squares"]
close, within = tried.loc["six columns, all pixels"], tried.loc["left half, all pixels"]
assert in_apart["minimax"].difference.high < 0, "with different pixels minimax beats the mean by more than its interval"
assert apart.rules[0].name == "product", "and is not the best"
assert abs(apart.base_rate - 0.5) < 0.02, "in half of all cases the digit is odd"
assert odd[agreed.index].mean() > agreed.mean().max(), "those who agree are right more often than they say"
assert in_apart["mean"].slope.low > 1, "the mean is too timid"
assert any("independent" in sentence for sentence in apart.advice), "the advice says that the evidence is independent"
assert in_nested["minimax"].difference.low < 0 < in_nested["minimax"].difference.high, "with the same it does not"
assert any("nested" in sentence for sentence in nested.advice), "the advice says why"
assert "is nested" in report, "and so does the report"
assert (halves["high"] < 0).all(), "halves: better in every line"
assert (squares["dependence"] > 3 * halves["dependence"]).all(), "squares depend more on each other"
assert (squares["mean"] - squares["minimax"] < (halves["mean"] - halves["minimax"]) / 2).all(), "and gain less"
assert (squares.loc["odd", "high"] > -0.001).all(), "for odd digits the interval ends near zero"
assert ((close["mean"] - close["minimax"]).abs() < 0.001).all(), "nearly the same pixels: next to nothing to gain"
assert sorted(close["verdict"]) == ["better", "cannot tell", "cannot tell", "cannot tell"], "and a verdict in one line"
assert (within["high"] < 0).all(), "half and all: better than the mean"
assert (within["alone"] < within["minimax"]).all(), "and worse than the member that sees all"
