"""What the theorems ask for: the numbers keep the inequalities that they come from, in exact arithmetic."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from refusals import input_error
from robustpool.cli.theory import plan as plan_command
from robustpool.errors import InputError
from robustpool.theory.coverings import lipschitz_covering_bound, tv_covering_bound
from robustpool.theory.planning import plan, priors_for_reports, readable, root_for_lipschitz, rounds

law = settings(max_examples=60, deadline=None)
epsilons = st.one_of(st.floats(1e-12, 1), st.sampled_from([1e-12, 0.01, 0.1, 1.0]))
fractions = st.fractions(Fraction(1, 10**6), 1)


@law
@given(st.integers(1, 10**9), fractions)
def test_the_least_number_of_priors(N: int, epsilon: Fraction) -> None:
    """105 (6N/M)^(2/9) <= epsilon/2, to the ninth power: exact."""

    def enough(M: int) -> bool:
        return 105**9 * Fraction(6 * N, M) ** 2 <= (epsilon / 2) ** 9

    M = priors_for_reports(N, epsilon)
    assert enough(M)
    assert not enough(M - 1)
    assert M > N


def test_a_number_of_priors_that_is_just_enough_is_enough() -> None:
    """210/epsilon = 15^2, so that M^2 >= 36 * 15^18 holds with equality."""
    assert priors_for_reports(1, Fraction(210, 225)) == 6 * 15**9


@law
@given(st.fractions(Fraction(1, 1000), 10**9), fractions)
def test_the_least_square_number_of_reports(L: Fraction, epsilon: Fraction) -> None:
    """134 (24/m)^(1/7) + 48 L/m <= epsilon/2, first as exact seventh powers, then as it is printed."""

    def enough(m: int) -> bool:
        left = epsilon / 2 - 2 * L * Fraction(24, m)
        return left >= 0 and 134**7 * Fraction(24, m) <= left**7

    m = root_for_lipschitz(L, epsilon)
    assert enough(m)
    assert not enough(m - 1)
    cost = 134 * (24 / m) ** (1 / 7) + 48 * float(L) / m
    assert cost == pytest.approx(float(epsilon) / 2, rel=1e-9)


@law
@given(epsilons, st.integers(1, 10**6))
def test_the_discrete_plan_keeps_its_promises(epsilon: float, N: int) -> None:
    """[Guo2024, Theorem 5.1]: half of epsilon for the grid, half for the rounds."""
    asked = plan(epsilon, reports=N)
    assert asked.N == N
    assert 105 * tv_covering_bound(asked.N, asked.M) ** (2 / 9) <= epsilon / 2 * (1 + 1e-12)
    assert asked.structures == (N + 1) ** 4 * (asked.M + 1)
    rounds_left = asked.T - 25 * math.log(asked.structures) / (epsilon / 2) ** 2
    assert -1e-9 * asked.T <= rounds_left <= 1 + 1e-9 * asked.T
    assert asked.work == asked.T * asked.structures


@law
@given(epsilons, st.one_of(st.floats(1e-3, 1e6), st.sampled_from([1.0, 1e300])))
def test_the_lipschitz_plan_keeps_its_promises(epsilon: float, L: float) -> None:
    """[Guo2024, Theorem 6.1] with the covering of Proposition 6.8 and the cost of Proposition 6.3."""
    asked = plan(epsilon, lipschitz=L)
    m = math.isqrt(asked.N)
    assert [m**2, m**3] == [asked.N, asked.M]  # M = N^(3/2)
    radius = Fraction(12 * asked.N, asked.M) + Fraction(8, m) + Fraction(4, asked.N)
    assert radius <= Fraction(24, m) < Fraction(1, 2**7)  # Proposition 6.3 needs the second
    assert 134 * float(radius) ** (1 / 7) + float(2 * Fraction(L) * radius) <= epsilon / 2 * (1 + 1e-12)
    assert asked.structures == (asked.N + 1) ** 4 * (asked.M + 1)


def test_the_covering_bound_is_the_one_used() -> None:
    asked = plan(1.0, lipschitz=1.0)
    assert lipschitz_covering_bound(asked.N, asked.M) <= 24 / math.sqrt(asked.N)


def test_rounds_are_exact_where_floats_are_not() -> None:
    """T at epsilon = 1e-12 has 29 digits; ln 2 to 40 digits tells the right ones."""
    ln2 = Fraction(6931471805599453094172321214581765680755, 10**40)
    assert rounds(2**100, Fraction(1, 10**12)) == math.ceil(2500 * ln2 * 10**24)


def test_a_decimal_is_what_it_prints_as() -> None:
    tenth = Fraction(1, 10)
    assert priors_for_reports(1, tenth) == plan(0.1, reports=1).M
    assert math.isqrt(plan(0.1, lipschitz=0.3).N) == root_for_lipschitz(Fraction(3, 10), tenth)


def test_a_smaller_epsilon_or_a_steeper_aggregator_asks_for_more() -> None:
    assert plan(0.1, reports=20).work < plan(0.01, reports=20).work < plan(0.01, reports=21).work
    assert plan(0.1, lipschitz=1).work < plan(0.01, lipschitz=1).work < plan(0.01, lipschitz=2).work


def test_the_sentences() -> None:
    asked = plan(0.01, reports=20)
    assert asked.sentence == (
        "For a regret within 0.01 of the best, [Guo2024, Theorem 5.1] requires reports in steps of 1/N and priors in steps of "
        "1/M with N = 20 and M = 3.4 x 10^21: 6.6 x 10^26 structures, T = 6.2 x 10^7 rounds, 4.1 x 10^34 regrets. At a billion "
        "regrets a second that is 1.3 x 10^18 years, which is not feasible."
    )
    assert "`robustpool design --reports 20 --priors 400 --tolerance 0.01`" in asked.practical
    smooth = plan(0.01, lipschitz=2.5)
    assert "[Guo2024, Theorem 6.1]" in smooth.sentence
    assert "`robustpool design --lipschitz 2.5 --reports 20 --priors 400 --tolerance 0.01`" in smooth.practical


def test_the_least_that_can_be_asked_for_takes_months() -> None:
    easiest = plan(1, reports=1)
    assert easiest.sentence.endswith("At a billion regrets a second that is 7.7 x 10^6 seconds.")
    assert plan(0.5, reports=1).sentence.endswith("years.")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999_999, "999,999"),
        (10**6, "1.0 x 10^6"),
        (9_960_000, "1.0 x 10^7"),
        (7 * 10**3000, "7.0 x 10^3000"),
    ],
)
def test_numbers_that_a_person_can_read(number: int, text: str) -> None:
    assert readable(number) == text


ONE_OF = r"^give either reports or lipschitz; reports is"


@pytest.mark.parametrize(
    ("epsilon", "options", "sentence"),
    [
        (0, {"reports": 20}, r"^epsilon must be a finite number, at least 1e-12 and at most 1; it is 0\.$"),
        (1.5, {"reports": 20}, r"^epsilon must be a finite number, at least 1e-12 and at most 1; it is 1\.5\.$"),
        (float("nan"), {"reports": 20}, r"at most 1; it is nan\.$"),
        (0.1, {}, ONE_OF + r" None and lipschitz is None\.$"),
        (0.1, {"reports": 20, "lipschitz": 2.0}, ONE_OF + r" 20 and lipschitz is 2\.0\.$"),
        (0.1, {"reports": 0}, r"^reports must be a whole number, at least 1; it is 0\.$"),
        (0.1, {"reports": 2**53 + 1}, r"^reports must be at most 2\^53, because .*; it is 9007199254740993\.$"),
        (0.1, {"lipschitz": 0}, r"^lipschitz must be a finite number, greater than 0; it is 0\.$"),
        (0.1, {"lipschitz": float("nan")}, r"^lipschitz must be a finite number, greater than 0; it is nan\.$"),
        (0.1, {"lipschitz": float("inf")}, r"^lipschitz must be a finite number, greater than 0; it is inf\.$"),
    ],
)
def test_what_cannot_be_planned(epsilon: float, options: dict[str, float], sentence: str) -> None:
    with input_error(sentence):
        plan(epsilon, **options)  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------- command line

app = typer.Typer()
app.command()(plan_command)


@pytest.mark.parametrize("options", [["--reports", "20"], ["--lipschitz", "2"], ["--lipschitz", "1e300"]])
def test_the_command_says_the_same(options: list[str]) -> None:
    done = CliRunner().invoke(app, ["--epsilon", "0.01", *options, "--json"])
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    asked = plan(0.01, **{options[0][2:]: float(options[1]) if "lip" in options[0] else int(options[1])})  # type: ignore[arg-type]
    for key in ("N", "M", "T", "structures", "work"):
        assert data[key] == getattr(asked, key)
        assert isinstance(data[key], int)
    text = CliRunner().invoke(app, ["--epsilon", "0.01", *options]).stdout
    assert text.splitlines() == [data["sentence"], data["practical"]]


def test_the_command_refuses_as_the_function_does() -> None:
    done = CliRunner().invoke(app, ["--epsilon", "0.01"])
    assert isinstance(done.exception, InputError)
