"""The rules: their theorems as properties, their corners, and every sentence they refuse with."""

from __future__ import annotations

import math
import pickle
import re
import statistics
import subprocess
import sys
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from refusals import input_error
from robustpool.aggregators.pools import LEAST, MOST, neyman_factor
from robustpool.aggregators.rules import RULES, get_rule
from robustpool.families.worst_case import worst_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from robustpool.typing import Floats

NAMES = [name if name != "bordley" else "bordley:prior=0.3" for name in RULES]
CERTAIN_REPORTS_DECIDE = [
    "robust",
    "minimax",
    "minimax:unanimous=0",
    "minimax-log",
    "minimax-log:summed=1",
    "geometric-odds",
    "extremized-odds",
    "neyman-odds",
    "product",
    "bordley:prior=1e-9",
    "average-prior",
    "common-source",
    "log-odds",
]
LOWER_BOUND = (5 * math.sqrt(5) - 11) / 8  # [Arieli2018], two agents

report = st.floats(1e-9, 1 - 1e-9)
row = st.lists(report, min_size=1, max_size=8)
dyadic = st.integers(1, 1023).map(lambda i: i / 1024)  # 1 - x is exact
corner = st.one_of(st.floats(0.01, 320).map(lambda e: 10.0**-e), st.integers(1, 53).map(lambda k: 1 - 2.0**-k), report)


def forecast(name: str, reports: Sequence[float]) -> float:
    return float(get_rule(name)([reports])[0])


some_reports = st.lists(dyadic, min_size=2, max_size=8)


law = settings(max_examples=60, deadline=None)
few = settings(max_examples=20, deadline=None)  # for laws that run once for each rule
close = partial(pytest.approx, rel=1e-11, abs=1e-321)


# ------------------------------------------------------------------------------------------------------- the catalogue


def test_the_catalogue_holds_the_promised_names_in_order() -> None:
    promised = (
        "robust minimax minimax-log mean median trimmed-mean geometric-mean geometric-odds extremized-odds neyman-odds karmarkar beta-pool "
        "product bordley average-prior arieli-tuned log-odds common-source"
    )
    assert list(RULES) == promised.split()


@pytest.mark.parametrize("name", NAMES)
def test_the_name_gives_the_rule_again(name: str) -> None:
    rule = get_rule(name)
    assert rule.name == name
    assert get_rule(rule.name) == rule
    assert hash(get_rule(rule.name)) == hash(rule)
    assert pickle.loads(pickle.dumps(rule)) == rule


@pytest.mark.parametrize("name", NAMES)
def test_formula_and_source_are_one_line(name: str) -> None:
    rule = get_rule(name)
    assert "\n" not in rule.formula + rule.source
    assert "f = " in rule.formula
    assert re.search(r"robustpool|\d{4}", rule.source)  # our own, or of some year


@pytest.mark.parametrize(
    ("text", "canonical", "parameters"),
    [
        ("extremized-odds", "extremized-odds", {"d": 2.5}),
        ("extremized-odds:d=2.50", "extremized-odds", {"d": 2.5}),
        ("extremized-odds:d=3", "extremized-odds:d=3", {"d": 3.0}),
        (" extremized-odds : d = 1.7320508075688772 ", "extremized-odds:d=1.7320508075688772", {"d": math.sqrt(3)}),
        ("bordley:prior=1e-9", "bordley:prior=1e-09", {"prior": 1e-9}),
        ("trimmed-mean:share=0", "trimmed-mean:share=0", {"share": 0.0}),
        ("minimax:b=0.5", "minimax:b=0.5", {"b": 0.5, "unanimous": 1}),
        ("minimax:unanimous=0", "minimax:unanimous=0", {"b": 0.1, "unanimous": 0}),
        ("minimax:unanimous=1,b=0.2", "minimax:b=0.2", {"b": 0.2, "unanimous": 1}),
        ("mean", "mean", {}),
    ],
)
def test_parameters_are_read(text: str, canonical: str, parameters: dict[str, float]) -> None:
    rule = get_rule(text)
    assert rule.name == canonical
    assert rule.parameters == parameters


@law
@given(st.floats(0, exclude_min=True, allow_infinity=False))
def test_every_digit_of_a_parameter_survives(d: float) -> None:
    rule = get_rule(f"extremized-odds:d={d!r}")
    assert get_rule(rule.name).parameters == {"d": d}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "medain",
            r"^rule must be one of robust, minimax, minimax-log, mean, .*, log-odds, common-source; it is 'medain', and the closest is 'median'\.$",
        ),
        ("Geometric_Odds", r"it is 'Geometric_Odds', and the closest is 'geometric-odds'\.$"),
        ("", r"common-source; it is ''\.$"),
        ("nosuch", r"common-source; it is 'nosuch'\.$"),
        ("mean:d=2", r"^rule mean has no parameter 'd'; it takes none\.$"),
        ("karmarkar:d=2", r"^rule karmarkar has no parameter 'd'; it takes a\.$"),
        ("bordley", r"^rule bordley needs the parameter prior in \(0, 1\), written as bordley:prior=0\.3\.$"),
        ("bordley:prior=0", r"^parameter prior of rule bordley must lie in \(0, 1\); it is 0\.$"),
        ("bordley:prior=1", r"must lie in \(0, 1\); it is 1\.$"),
        ("extremized-odds:d=0", r"^parameter d of rule extremized-odds must lie in \(0, inf\); it is 0\.$"),
        ("extremized-odds:d=inf", r"must lie in \(0, inf\); it is inf\.$"),
        ("extremized-odds:d=nan", r"must lie in \(0, inf\); it is nan\.$"),
        ("karmarkar:a=-1", r"^parameter a of rule karmarkar must lie in \(0, inf\); it is -1\.$"),
        ("beta-pool:a=0", r"^parameter a of rule beta-pool must lie in \(0, inf\); it is 0\.$"),
        ("log-odds:alpha=0", r"^parameter alpha of rule log-odds must lie in \(0, inf\); it is 0\.$"),
        ("trimmed-mean:share=0.5", r"^parameter share of rule trimmed-mean must lie in \[0, 0\.5\); it is 0\.5\.$"),
        ("trimmed-mean:share=-0.1", r"must lie in \[0, 0\.5\); it is -0\.1\.$"),
        ("minimax:b=0.03", r"^parameter b of rule minimax must lie in \[0\.08, 0\.9\); it is 0\.03\.$"),
        ("minimax:b=0.91", r"must lie in \[0\.08, 0\.9\); it is 0\.91\.$"),
        ("minimax:unanimous=0.5", r"^parameter unanimous of rule minimax must lie in \{0, 1\}; it is 0\.5\.$"),
        ("minimax:unanimous=2", r"^parameter unanimous of rule minimax must lie in \{0, 1\}; it is 2\.$"),
        ("minimax:unanimous=nan", r"must lie in \{0, 1\}; it is nan\.$"),
        ("minimax:b=two", r"^parameter b of rule minimax must be a number; it is 'two'\.$"),
        ("minimax:", r"^a rule's parameter must be written as name=number; '' in 'minimax:' is not\.$"),
        ("minimax:b", r"written as name=number; 'b' in 'minimax:b' is not\.$"),
        ("minimax:b=", r"written as name=number; 'b=' in 'minimax:b=' is not\.$"),
        ("minimax:=1", r"written as name=number; '=1' in 'minimax:=1' is not\.$"),
        (
            "minimax:b=0.1,b=0.2",
            r"^a rule's parameter must be given once; b in 'minimax:b=0\.1,b=0\.2' is given twice\.$",
        ),
    ],
)
def test_a_wrong_name_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with input_error(sentence):
        get_rule(text)


@pytest.mark.parametrize("name", ["median", "trimmed-mean"])
def test_rules_by_order_take_no_weights(name: str) -> None:
    with input_error(rf"^rule {name} does not accept weights\.$"):
        get_rule(name)([[0.2, 0.4]], [1.0, 2.0])


@pytest.mark.parametrize("reports", [0.5, [0.5, 0.5], [[[0.5]]]])
def test_reports_are_a_table(reports: object) -> None:
    with input_error(r"^reports must have the shape \(questions, agents\); the shape is \(.*\)\.$"):
        get_rule("mean")(reports)  # type: ignore[arg-type]


def test_nothing_heavy_is_imported_with_the_rules() -> None:
    code = "import sys, robustpool.forecasts; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -------------------------------------------------------------------------------------------------- laws of every rule


@pytest.mark.parametrize("name", NAMES)
@few
@given(data=st.data())
def test_the_order_of_the_agents_does_not_matter(name: str, data: st.DataObject) -> None:
    reports = data.draw(some_reports)
    assert forecast(name, data.draw(st.permutations(reports))) == close(forecast(name, reports))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("geometric-mean", "bordley:prior=0.3")])
@few
@given(data=st.data())
def test_the_mirror_image(name: str, data: st.DataObject) -> None:
    reports = data.draw(some_reports)
    assume(name != "arieli-tuned" or 2 * sum(reports) != len(reports))  # the rule as printed jumps there
    assert forecast(name, [1 - x for x in reports]) == pytest.approx(1 - forecast(name, reports), rel=1e-11, abs=1e-14)


@law
@given(reports=some_reports, prior=dyadic)
def test_the_mirror_image_of_bordley_has_the_mirrored_prior(reports: list[float], prior: float) -> None:
    mirrored = forecast(f"bordley:prior={1 - prior}", [1 - x for x in reports])
    assert mirrored == pytest.approx(1 - forecast(f"bordley:prior={prior}", reports), abs=1e-13)


def test_two_rules_have_no_mirror_symmetry() -> None:
    assert forecast("geometric-mean", [0.2, 0.4]) + forecast("geometric-mean", [0.8, 0.6]) < 0.98
    assert forecast("arieli-tuned", [0.3, 0.7]) == pytest.approx(0.51)  # not 1/2, as symmetry would have it


@pytest.mark.parametrize(
    "name", ["mean", "median", "trimmed-mean", "geometric-mean", "geometric-odds", "average-prior"]
)
@law
@given(x=corner, n=st.integers(1, 40))
def test_unanimous_reports_are_kept(name: str, x: float, n: int) -> None:
    assert forecast(name, [x] * n) == close(x)


@law
@given(x=report, n=st.integers(1, 8))
def test_bordley_keeps_reports_that_equal_the_prior(x: float, n: int) -> None:
    assert forecast(f"bordley:prior={x!r}", [x] * n) == close(x)


TRANSFORM_ONE_REPORT = ("extremized-odds", "karmarkar", "beta-pool", "log-odds")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TRANSFORM_ONE_REPORT])
@few
@given(x=corner)
def test_one_agent_is_taken_at_her_word(name: str, x: float) -> None:
    assert forecast(name, [x]) == close(x)


@pytest.mark.parametrize("name", ["robust", "minimax", "common-source"])
@law
@given(x=corner)
def test_one_report_comes_back_to_the_last_digit(name: str, x: float) -> None:
    assert forecast(name, [x]) == x
    assert forecast(name, [math.nan, x, math.nan]) == x


@pytest.mark.parametrize("name", TRANSFORM_ONE_REPORT)
def test_some_rules_transform_even_one_report(name: str) -> None:
    assert abs(forecast(name, [0.7]) - 0.7) > 0.05


@pytest.mark.parametrize("name", NAMES)
@few
@given(reports=row, data=st.data())
def test_who_does_not_answer_does_not_count(name: str, reports: list[float], data: st.DataObject) -> None:
    gaps = data.draw(st.permutations([*reports, math.nan, math.nan]))
    assert forecast(name, gaps) == close(forecast(name, reports))


@pytest.mark.parametrize("name", NAMES)
@few
@given(data=st.data())
def test_forecasts_are_probabilities(name: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 9))
    extreme = st.one_of(corner, st.sampled_from([0.0, 1.0, 5e-324]))
    assert 0 <= forecast(name, data.draw(st.lists(extreme, min_size=size, max_size=size))) <= 1


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("average-prior", "arieli-tuned")])
@few
@given(reports=row, data=st.data())
def test_rules_without_a_prior_from_reports_rise(name: str, reports: list[float], data: st.DataObject) -> None:
    x = data.draw(st.floats(reports[0], 1 - 1e-9))
    assert forecast(name, [x, *reports[1:]]) >= forecast(name, reports) * (1 - 1e-12)


def test_rows_do_not_see_each_other() -> None:
    rng = np.random.default_rng(1)
    reports = rng.random((200, 7))
    reports[rng.random(reports.shape) < 0.4] = np.nan
    reports[:3] = [[0.0] + [0.5] * 6, [0.0, 1.0] + [0.5] * 5, [np.nan] * 7]
    for name in NAMES:
        alone = [forecast(name, list(line)) for line in reports]
        np.testing.assert_allclose(get_rule(name)(reports), alone, rtol=1e-12)


def test_reports_are_left_as_they_were() -> None:
    reports = np.array([[0.9, 0.1, 0.4], [0.0, 1.0, np.nan]])
    for name in NAMES:
        get_rule(name)(reports)
    np.testing.assert_array_equal(reports, [[0.9, 0.1, 0.4], [0.0, 1.0, np.nan]])


# -------------------------------------------------------------------------------------------------------------- corners


@pytest.mark.parametrize("name", CERTAIN_REPORTS_DECIDE)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 30])
@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_certain_reports_decide(name: str, n: int, certain: float) -> None:
    assert forecast(name, [certain] * n) == certain
    assert forecast(name, [certain] + [0.4] * (n - 1)) == certain


def test_certain_reports_decide_for_arieli_tuned() -> None:
    reports = [[0.0, 0.0], [0.0, 0.4], [0.9, 0.0], [1.0, 1.0], [1.0, 0.4], [0.9, 1.0]]
    assert get_rule("arieli-tuned")(reports).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("name", ["mean", "median", "trimmed-mean", "karmarkar", "beta-pool", "geometric-mean"])
def test_unanimous_certain_reports_decide_for_averages(name: str) -> None:
    assert get_rule(name)([[0, 0, 0], [1, 1, 1]]).tolist() == [0, 1]


def test_averages_weigh_certain_reports() -> None:
    assert forecast("mean", [0, 0.4]) == 0.2
    assert forecast("median", [0, 0.4, 0.5]) == 0.4
    assert forecast("karmarkar:a=2", [0, 0.5]) == pytest.approx(0.1)
    assert forecast("geometric-mean", [1, 0.25]) == 0.5
    assert forecast("geometric-mean", [0, 0.25]) == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_contradiction_gives_one_half(name: str) -> None:
    assert forecast(name, [0, 1]) == 0.5
    if not get_rule(name).averages:
        assert forecast(name, [0, 1, 0.9, 0.8]) == 0.5


def test_0_and_1_are_numbers_to_an_average() -> None:
    reports = [0, 1, 0.9, 0.9, 0.9, 0.9]
    assert forecast("mean", reports) == pytest.approx(4.6 / 6)
    assert forecast("median", reports) == forecast("trimmed-mean:share=0.4", reports) == 0.9
    assert forecast("karmarkar:a=1", reports) == pytest.approx(4.6 / 6)
    assert forecast("beta-pool:a=1", reports) == pytest.approx(4.6 / 6)


@pytest.mark.parametrize("name", NAMES)
def test_no_answers_no_forecast(name: str) -> None:
    assert math.isnan(forecast(name, [math.nan, math.nan]))
    assert get_rule(name)(np.empty((0, 2))).shape == (0,)
    assert np.isnan(get_rule(name)(np.empty((3, 0)))).tolist() == [True] * 3


def test_an_enormous_factor_decides_without_a_warning() -> None:
    assert get_rule("extremized-odds:d=1e308")([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]]).tolist() == [LEAST, 0.5, MOST]


# --------------------------------------------------------------------------------- exact arithmetic, also near corners


def exact(reports: Sequence[float], prior: Fraction) -> Fraction:
    """prod x / mu^(n-1) against prod (1-x) / (1-mu)^(n-1), in fractions."""
    x = [Fraction(value) for value in reports]
    yes = math.prod(x) * (1 - prior) ** (len(x) - 1)
    no = math.prod(1 - value for value in x) * prior ** (len(x) - 1)
    return yes / (yes + no)


def assert_accurate(found: float, truth: Fraction) -> None:
    """To 11 digits of the forecast and, as far as a double near 1 can tell, of its complement."""
    assert found == pytest.approx(float(truth), rel=1e-11, abs=1e-321)
    assert 1 - found == pytest.approx(float(1 - truth), rel=1e-11, abs=2.3e-16)


corners = st.lists(corner, min_size=1, max_size=5)


@law
@given(corners)
def test_product_is_exact(reports: list[float]) -> None:
    assert_accurate(forecast("product", reports), exact(reports, Fraction(1, 2)))


@law
@given(corners, st.one_of(report, st.just(1e-9), st.just(1e-300), st.just(1 - 2.0**-53)))
def test_bordley_is_exact(reports: list[float], prior: float) -> None:
    assert_accurate(forecast(f"bordley:prior={prior!r}", reports), exact(reports, Fraction(prior)))


@law
@given(corners)
def test_average_prior_is_exact(reports: list[float]) -> None:
    prior = sum(map(Fraction, reports), Fraction()) / len(reports)
    assert_accurate(forecast("average-prior", reports), exact(reports, prior))


@law
@given(corner, corner)
def test_average_prior_is_the_formula_of_the_paper(x_1: float, x_2: float) -> None:
    x, y = Fraction(x_1), Fraction(x_2)
    yes, no = x * y * (1 - (x + y) / 2), (1 - x) * (1 - y) * (x + y) / 2  # [Guo2024, Table 1]
    assert_accurate(forecast("average-prior", [x_1, x_2]), yes / (yes + no))


@law
@given(corner, corner)
def test_arieli_tuned_is_the_formula_of_the_paper(x_1: float, x_2: float) -> None:
    x, y = Fraction(x_1), Fraction(x_2)
    assume((x + y <= 1) == (x_1 + x_2 <= 1))  # the sum of two doubles may round across the jump
    ep = Fraction(49, 100) * (x + y) + (0 if x + y <= 1 else Fraction(2, 100))  # [Guo2024, Table 1]
    yes, no = x * y * (1 - ep), (1 - x) * (1 - y) * ep
    assert_accurate(forecast("arieli-tuned", [x_1, x_2]), yes / (yes + no))


@law
@given(st.lists(dyadic, min_size=1, max_size=7))
def test_arieli_tuned_for_more_agents_is_the_posterior_at_its_estimate_of_the_prior(reports: list[float]) -> None:
    n, mean = len(reports), sum(map(Fraction, reports)) / len(reports)
    ep = Fraction(98, 100) * mean + (0 if mean <= Fraction(1, 2) else Fraction(2, 100))
    yes, no = Fraction((1 - ep) ** (n - 1)), Fraction(ep ** (n - 1))
    for x in map(Fraction, reports):
        yes, no = yes * x, no * (1 - x)
    assert_accurate(forecast("arieli-tuned", reports), yes / (yes + no))


@law
@given(corners)
def test_karmarkar_is_exact(reports: list[float]) -> None:
    p = sum(map(Fraction, reports), Fraction()) / len(reports)
    assert_accurate(forecast("karmarkar:a=3", reports), p**3 / (p**3 + (1 - p) ** 3))


@law
@given(st.lists(st.integers(1, 53).map(lambda k: 1 - 2.0**-k), min_size=1, max_size=5))
def test_the_mean_of_near_certain_reports_keeps_its_digits(reports: list[float]) -> None:
    p = sum(map(Fraction, reports), Fraction()) / len(reports)  # as a double it may round to 1
    odds = float(p / (1 - p)) ** 0.1
    assert forecast("karmarkar:a=0.1", reports) == pytest.approx(odds / (1 + odds), rel=1e-12)


@law
@given(corner, corner)
def test_geometric_odds_squared_are_the_product_of_the_odds(x_1: float, x_2: float) -> None:
    truth = Fraction(x_1) / (1 - Fraction(x_1)) * Fraction(x_2) / (1 - Fraction(x_2))
    found = Fraction(forecast("geometric-odds", [x_1, x_2]))
    assume(found != 1)
    rounding = 2.3e-16 / float(1 - found) + 5e-324 / float(found)  # of a double near 1, and of a subnormal one
    assert float((found / (1 - found)) ** 2 / truth) == pytest.approx(1, abs=1e-10 + 3 * rounding)


@law
@given(
    prior=st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100),
    likelihoods=st.lists(
        st.tuples(*[st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50)] * 2), min_size=1, max_size=5
    ),
)
def test_bordley_with_the_true_prior_is_bayes(prior: Fraction, likelihoods: list[tuple[Fraction, Fraction]]) -> None:
    """Agent i sees a signal that has probability a_i if the state is 1 and b_i if it is 0, independently given the state."""
    reports = [prior * a / (prior * a + (1 - prior) * b) for a, b in likelihoods]
    yes = prior * math.prod(a for a, _ in likelihoods)
    no = (1 - prior) * math.prod(b for _, b in likelihoods)
    found = forecast(f"bordley:prior={float(prior)!r}", [float(x) for x in reports])
    assert found == pytest.approx(float(yes / (yes + no)), rel=1e-11)


# ------------------------------------------------------------------------------------------------- one rule and another


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("log-odds:alpha=1", "product"),
        ("bordley:prior=0.5", "product"),
        ("extremized-odds:d=1", "geometric-odds"),
        ("karmarkar:a=1", "mean"),
        ("beta-pool:a=1", "mean"),
        ("trimmed-mean:share=0", "mean"),
        ("trimmed-mean:share=0.4999999999", "median"),
    ],
)
@few
@given(reports=row)
def test_one_rule_is_another_at_a_special_value(name: str, other: str, reports: list[float]) -> None:
    assert forecast(name, reports) == pytest.approx(forecast(other, reports), rel=1e-11)


@law
@given(row)
def test_extremizing_by_n_is_the_product(reports: list[float]) -> None:
    assert forecast(f"extremized-odds:d={len(reports)}", reports) == close(forecast("product", reports))


@law
@given(row)
def test_the_median_is_that_of_the_standard_library(reports: list[float]) -> None:
    assert forecast("median", reports) == close(statistics.median(reports))


@law
@given(st.lists(report, min_size=1, max_size=40), st.fractions(0, Fraction(49, 100), max_denominator=100))
def test_the_trimmed_mean_sorts_and_cuts(reports: list[float], share: Fraction) -> None:
    k = math.floor(share * len(reports))
    kept = sorted(reports)[k : len(reports) - k]
    assert forecast(f"trimmed-mean:share={float(share)!r}", reports) == close(statistics.fmean(kept))


def test_trimming_counts_in_decimals() -> None:
    reports = [0.0] * 29 + [0.5] * 42 + [0.9] * 29  # 0.29 * 100 is 28.999999999999996 in floating point
    assert forecast("trimmed-mean:share=0.29", reports) == 0.5


@law
@given(row)
def test_the_geometric_mean_is_that_of_the_standard_library(reports: list[float]) -> None:
    assert forecast("geometric-mean", reports) == close(statistics.geometric_mean(reports))


@law
@given(row)
def test_the_beta_pool_is_a_polynomial_for_whole_a(reports: list[float]) -> None:
    p = statistics.fmean(reports)
    assert forecast("beta-pool:a=2", reports) == pytest.approx(3 * p**2 - 2 * p**3, rel=1e-9)


@pytest.mark.parametrize("a", [1e-9, 0.05, 0.7, 1, 6, 200, 1e4, 1e5, 2e5, 1e7])
def test_the_beta_pool_is_the_incomplete_beta_function(a: float) -> None:
    p = np.concatenate((np.linspace(0, 1, 41), 0.5 + np.array([-1e-3, -1e-9, 1e-6, 1e-2]), [1e-12, 1 - 1e-9]))
    theirs = scipy.special.betainc(a, a, p)
    ours = get_rule(f"beta-pool:a={a}")(p[:, None])
    np.testing.assert_allclose(ours, theirs, rtol=1e-11 * max(1, a / 1e3), atol=1e-12)


def test_neyman_factors() -> None:
    factors = neyman_factor(np.array([1, 2, 3, 10**6]))
    assert factors == pytest.approx([1, 2 * (math.sqrt(7) - 2), 3 * (math.sqrt(19) - 2) / 5, math.sqrt(3)], rel=1e-5)
    assert np.all(np.diff(neyman_factor(np.arange(1, 100))) > 0)
    o = (0.7 / 0.3 * 0.6 / 0.4) ** (math.sqrt(7) - 2)
    assert forecast("neyman-odds", [0.7, 0.6]) == close(o / (1 + o))


# -------------------------------------------------------------------------------------------------------------- robust


@law
@given(st.lists(st.tuples(st.floats(-8, 8), st.floats(0.1, 10)), min_size=2, max_size=9))
def test_robust_is_its_formula(log_odds_and_weights: list[tuple[float, float]]) -> None:
    log_odds, weights = zip(*log_odds_and_weights, strict=True)
    mean = statistics.fmean(log_odds, weights)
    z = mean * (1 + (2 * sigma(mean) - 1) ** 2 / 5)
    said = float(get_rule("robust")([[sigma(x) for x in log_odds]], [weights])[0])
    assert said == pytest.approx(sigma(z), rel=1e-9)


@law
@given(x=corner, y=corner)
def test_robust_of_two_is_minimax(x: float, y: float) -> None:
    assert forecast("robust", [x, y]) == pytest.approx(forecast("minimax", [x, y]), rel=1e-12, abs=1e-320)


@law
@given(x=report, n=st.integers(2, 40))
def test_robust_pushes_unanimous_reports_out_by_up_to_a_fifth(x: float, n: int) -> None:
    z, said = math.log(x / (1 - x)), forecast("robust", [x] * n)
    assert min(sigma(z), sigma(1.2 * z)) * (1 - 1e-9) <= said <= max(sigma(z), sigma(1.2 * z)) * (1 + 1e-9)
    assert said == close(forecast("robust", [x] * 2))


def test_five_who_say_0_9() -> None:
    assert forecast("robust", [0.9] * 5) == pytest.approx(0.9226, abs=5e-5)


@law
@given(reports=some_reports, step=st.floats(-1e-6, 1e-6))
def test_robust_does_not_jump(reports: list[float], step: float) -> None:
    """Its log-odds change by at most 1.3 times what the mean log-odds do: 1 + t^2/5 + (L/5) t (1 - t^2) < 1.3, t = tanh(L/2)."""
    moved = [min(max(x + step, 1e-4), 1 - 1e-4) for x in reports]
    mean_shift = statistics.fmean(abs(logit(x) - logit(y)) for x, y in zip(reports, moved, strict=True))
    shift = abs(logit(forecast("robust", reports)) - logit(forecast("robust", moved)))
    assert shift <= 1.3 * mean_shift + 1e-9


def logit(x: float) -> float:
    return math.log(x / (1 - x))


# ------------------------------------------------------------------------------------------------------------- minimax


def sigma(z: float) -> float:
    return 1 / (1 + math.exp(-z))


@law
@given(st.lists(st.tuples(st.floats(-8, 8), st.floats(0.5, 2)), min_size=3, max_size=20))
def test_minimax_is_its_formula(log_odds_and_weights: list[tuple[float, float]]) -> None:
    """As docs/derivations/many-agents writes it; weights sum to n, the number of answers."""
    log_odds, weights = zip(*log_odds_and_weights, strict=True)
    n = len(log_odds)
    a, threshold, c = max(1, 1 + 0.31 * math.log(n / 7)), max(1, 1.7 - n / 10), 0.6 - 1.2 / n**2
    stretched = [a * x + math.copysign(c * max(abs(x) - threshold, 0) ** 2, x) for x in log_odds]
    said = float(get_rule("minimax")([[sigma(x) for x in log_odds]], [weights])[0])
    assert said == pytest.approx(sigma(statistics.fmean(stretched, weights)), rel=1e-9)


CONSTANTS = {  # THEORY-2, section 1: alpha, threshold, beta, d, c, k
    3: (0.2938321819, 0, 0, 1, 0.2, 3),
    4: (0.2012608381, 1.35335, 0.30294, 0.54436, 0.04091, 1.58558),
    5: (0.17836, 1.11403, 2.85589, 20, 0.18482, 15.3385),
    6: (0.15726, 1.09094, 2.22361, 20, 0.71923, 46),
    7: (0.14015, 1.12697, 2.01286, 20, 0.59401, 46),
    8: (0.12995, 0.9985, 1.38882, 19.521, 0, 1),
    9: (0.11927, 1.00184, 1.29111, 20, 0, 1),
    10: (0.1103, 0.9856, 1.16371, 20, 0, 1),
}


@law
@given(st.lists(st.floats(-8, 8), min_size=1, max_size=12))
def test_minimax_that_need_not_be_unanimous_is_its_formula(log_odds: list[float]) -> None:
    reports, n, s = [sigma(x) for x in log_odds], len(log_odds), sum(log_odds)
    if n not in CONSTANTS:
        assert forecast("minimax:unanimous=0", reports) == forecast("minimax", reports)
        return
    alpha, threshold, beta, d, c, k = CONSTANTS[n]
    e = [max(abs(x) - threshold, 0) for x in log_odds]
    strong = sum(math.copysign(y * y / (y + d), x) for x, y in zip(log_odds, e, strict=True))
    z = s * (alpha + c * math.tanh(s / k) ** 2) + beta * strong
    assert forecast("minimax:unanimous=0", reports) == pytest.approx(sigma(z), rel=1e-9)


@law
@given(st.floats(-8, 8), st.floats(-8, 8))
def test_minimax_for_two_pushes_the_geometric_mean_of_odds_out_by_at_most_a_fifth(l_1: float, l_2: float) -> None:
    mean = (l_1 + l_2) / 2
    p = sigma(mean)
    z = mean * (1 + (2 * p - 1) ** 2 / 5)
    assert abs(mean) <= abs(z) <= 1.2 * abs(mean)
    assert forecast("minimax", [sigma(l_1), sigma(l_2)]) == pytest.approx(sigma(z), rel=1e-9)


def worst_case_of_a_function_of_the_log_odds(name: str, n: int) -> float:
    """The maximum over mu of the concave envelope, at mu, of g -> (f - g)^2, for a rule f that depends on s alone.

    That is the worst case over all conditionally independent structures for n = 2, and an upper bound on it for n > 2
    (theory notes, section 2). Only s matters, so that one agent reports g and the others, who know nothing, report mu.
    """
    mu = 1 / (1 + np.exp(-np.linspace(-6, 0, 241)))
    g = np.concatenate(([0.0], 1 / (1 + np.exp(-np.linspace(-9, 9, 481))), [1.0]))
    informed, ignorant = (grid.ravel() for grid in np.meshgrid(g, mu))
    forecasts = get_rule(name)(np.column_stack([informed, *[ignorant] * (n - 1)]))
    losses = (forecasts - informed).reshape(len(mu), len(g)) ** 2
    return max(envelope(at, g, loss) for at, loss in zip(mu, losses, strict=True))


def envelope(at: float, x: Floats, y: Floats) -> float:
    """The concave envelope of the points (x, y) at one place: the highest chord over it."""
    left, right = x <= at, x > at
    x_1, y_1, x_2, y_2 = x[left][:, None], y[left][:, None], x[right], y[right]
    return float(np.max(y_1 + (y_2 - y_1) * (at - x_1) / (x_2 - x_1)))


@pytest.mark.parametrize("name", ["robust", "minimax", "minimax:b=0.08", "minimax:b=0.89"])
def test_minimax_of_two_attains_the_lower_bound(name: str) -> None:
    found = worst_case_of_a_function_of_the_log_odds(name, n=2)
    assert LOWER_BOUND - 1e-5 < found < LOWER_BOUND + 1e-9


def test_minimax_of_three_attains_the_lower_bound_if_it_need_not_be_unanimous() -> None:
    found = worst_case_of_a_function_of_the_log_odds("minimax:unanimous=0", n=3)
    assert 0.044477003 - 2e-5 < found < 0.044477004


def test_scaled_log_odds_come_close() -> None:
    found = worst_case_of_a_function_of_the_log_odds("log-odds", n=2)
    assert found == pytest.approx(0.022599, abs=1e-5)  # [arXiv2604.24517]
    assert found > LOWER_BOUND + 5e-5


@pytest.mark.parametrize("name", ["robust", "minimax", "average-prior", "geometric-odds", "log-odds"])
def test_no_symmetric_rule_beats_the_lower_bound(name: str) -> None:
    """Both agents report 0 or 1/2, at the prior mu = (3 - sqrt 5)/4: who says 1/2 at (1/2, 1/2) has the regret V there."""
    mu = (3 - math.sqrt(5)) / 4
    reports = np.array([[0.0, 0.0], [0.0, 0.5], [0.5, 0.0], [0.5, 0.5]])
    marginals = np.where(reports == 0.5, 2 * mu, 1 - 2 * mu).prod(axis=1)
    yes, no = marginals * reports.prod(axis=1) / mu, marginals * (1 - reports).prod(axis=1) / (1 - mu)
    assert (yes + no).sum() == pytest.approx(1)
    regret = (yes + no) @ (get_rule(name)(reports) - yes / (yes + no)) ** 2
    assert regret == pytest.approx(LOWER_BOUND, rel=1e-12)


@pytest.mark.parametrize("name", ["product", "extremized-odds", "karmarkar", "bordley:prior=0.3", "beta-pool"])
def test_a_forecast_is_certain_only_if_a_report_is(name: str) -> None:
    """Else its log loss would be infinite, which that of the formula is not."""
    rows = [[1 - 1e-12, 1 - 1e-13], [1e-200, 1e-200]]
    assert get_rule(name)(rows).tolist() == [MOST, LEAST]
    with_others = get_rule(name)([*rows, [np.nan, np.nan], [1.0, 1.0], [0.0, 0.0]])
    assert with_others[[0, 1, 3, 4]].tolist() == [MOST, LEAST, 1, 0]
    assert np.isnan(with_others[2])


def test_the_log_loss_of_the_product_is_what_its_certificate_says() -> None:
    """`robustpool certify product --loss log` proves 0.129954 to 0.129956."""
    assert worst_case("product", loss="log").regret == pytest.approx(0.1299541256, abs=1e-9)
