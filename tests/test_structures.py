"""Information structures, report formats and finite families."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import robustpool as rp
from refusals import input_error
from robustpool.families.finite import FiniteFamily
from robustpool.families.random_families import random_joints
from robustpool.structures.report_formats import HigherOrder, report_format


def mean(x: Any) -> Any:
    return x.mean(axis=1)


shapes = st.tuples(st.integers(2, 4), st.lists(st.integers(1, 3), min_size=1, max_size=3)).map(lambda t: (t[0], *t[1]))


@st.composite
def joints(draw: st.DrawFn) -> Any:
    """Joint distributions with small denominators, so that reports collide."""
    shape = draw(shapes)
    size = int(np.prod(shape))
    weights = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any))
    return np.array(weights, dtype=float).reshape(shape) / sum(weights)


@given(joints(), st.sampled_from(["posterior", "higher-order", "decision"]))
@settings(max_examples=150, deadline=None)
def test_reports_agree_with_exact_fractions(joint: Any, how: str) -> None:
    family = FiniteFamily.from_structures([rp.InformationStructure(joint)], report=how)
    exact = reference.support(reference.exact_joint(joint), how)
    profiles = sorted({profile for profile, _ in exact})
    assert len(family.reports) == len(profiles)  # equal fractions are one report, different ones are two
    np.testing.assert_allclose(family.reports, np.array(profiles, dtype=float), atol=1e-12)
    expected = sorted((profiles.index(profile), *map(float, masses)) for profile, masses in exact)
    found = sorted((int(x), *map(float, mass)) for x, mass in zip(family.profile, family.mass, strict=True))
    np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-12)


@given(joints(), st.data())
@settings(max_examples=100, deadline=None)
def test_regret_is_never_negative(joint: Any, data: st.DataObject) -> None:
    structure = rp.InformationStructure(joint)
    family = FiniteFamily.from_structures([structure])
    states = structure.states
    size = states * len(family.reports)
    raw = np.array(data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)))
    table = raw.reshape(-1, states) / raw.reshape(-1, states).sum(axis=1, keepdims=True)
    forecasts = table[:, 1] if states == 2 else table
    for loss in ("square", "log"):
        assert rp.regrets(rp.TableAggregator(family.reports, forecasts), family, loss=loss)[0] >= -1e-15


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_regret_is_convex_in_the_aggregator(seed: int) -> None:
    rng = np.random.default_rng(seed)
    family = rp.random_family(5, resolution=6, rng=rng)
    f, g = rng.random((2, len(family.reports)))
    a = rng.random()
    for loss in ("square", "log"):
        tables = (rp.TableAggregator(family.reports, table) for table in (f, g, a * f + (1 - a) * g))
        of_f, of_g, of_mix = (rp.regrets(table, family, loss=loss) for table in tables)
        assert (of_mix <= a * of_f + (1 - a) * of_g + 1e-12).all()


def test_regret_of_two_states_is_the_distance_to_the_omniscient() -> None:
    """R(f, theta) = E[(f(x) - g(s))^2] [Guo2024, Section 3.2]."""
    family = rp.random_family(30, signals=3, resolution=10, rng=3)
    regrets = rp.regrets(mean, family)
    for t in range(len(family)):
        points = slice(family.start[t], family.start[t + 1])
        mass, x = family.mass[points], family.profiles[family.profile[points]]
        direct = mass.sum(axis=1) @ (mean(x) - mass[:, 1] / mass.sum(axis=1)) ** 2
        assert regrets[t] == pytest.approx(direct, abs=1e-14)


@pytest.mark.parametrize("third", [1 / 3, 1 - 2 / 3, 0.1 / 0.3, float(Fraction(1, 3)), 0.3333333333333])
def test_a_third_is_a_third_however_it_was_rounded(third: float) -> None:
    one = rp.InformationStructure([[1 / 3, 1 / 3], [1 / 6, 1 / 6]])
    other = rp.InformationStructure([[(1 - third) / 2] * 2, [third / 2] * 2])
    family = FiniteFamily.from_structures([one, other])
    assert len(family.reports) == 1
    assert family.profiles[0, 0] == pytest.approx(1 / 3)


def test_small_reports_stay_apart() -> None:
    def certain_to(p: float) -> rp.InformationStructure:
        return rp.InformationStructure([[1 - p], [p]])

    assert len(FiniteFamily.from_structures([certain_to(1e-12), certain_to(2e-12), certain_to(0)]).reports) == 3
    assert len(FiniteFamily.from_structures([certain_to(1 - 1e-12), certain_to(1 - 2e-12), certain_to(1)]).reports) == 3


def test_reports_that_shade_into_each_other_are_refused() -> None:
    crowd = [rp.InformationStructure([[0.5 - k * 1e-10], [0.5 + k * 1e-10]]) for k in range(1000)]
    with input_error(r"reports must be told apart by more than rounding; 1000 reports between 0\.5 and"):
        FiniteFamily.from_structures(crowd)


def test_a_tie_goes_to_the_earlier_state_however_it_was_rounded() -> None:
    tied = rp.InformationStructure([[0.1 + 0.2], [0.3], [0.4 - 1e-17 - 0.1 + 0.1]])
    assert FiniteFamily.from_structures([tied], report="decision").profiles.tolist() == [[[0.0, 0.0, 1.0]]]
    tied = rp.InformationStructure([[0.3, 0.2], [0.1 + 0.2, 0.2]])
    assert FiniteFamily.from_structures([tied], report="decision").profiles.tolist() == [[0.0]]


def test_a_custom_report() -> None:
    rounded = lambda agent, signal, structure: round(structure.posterior(agent)[signal, 1], 1)
    family = FiniteFamily.from_joints(random_joints(50, rng=1), report=rounded)
    assert family.report.name == "custom:<lambda>"
    assert set(family.reports.ravel()) <= {k / 10 for k in range(11)}
    by_hand = rp.FiniteFamily.from_joints(random_joints(50, rng=1))
    assert len(family.reports) < len(by_hand.reports)


def test_custom_reports_are_checked() -> None:
    joint = random_joints(2, rng=1, resolution=None)
    with input_error(r"the report of custom:bad for structure 0, agent 0, signal 0 must be finite"):
        FiniteFamily.from_joints(joint, report=named("bad", lambda *_: float("nan")))
    with input_error(r"custom:ragged must return reports of one length; it returned the shapes"):
        FiniteFamily.from_joints(joint, report=named("ragged", lambda _, signal, __: [0.0] * (signal + 1)))
    with input_error(r"custom:uneven must return reports of one length for all agents"):
        FiniteFamily.from_joints(joint, report=named("uneven", lambda agent, _, __: [0.0] * (agent + 1)))
    with input_error(r"report must be a word or a function of \(agent, signal, structure\); it is 3"):
        FiniteFamily.from_joints(joint, report=3)  # type: ignore[arg-type]
    with input_error(r"report must be one of posterior, higher-order, decision; it is 'gut feeling'"):
        report_format("gut feeling")


def test_custom_reports_see_the_structure_as_it_was_given() -> None:
    """Its name, and in messages its number in the family, not in a group of the same shape."""
    by_name = lambda agent, signal, structure: float(structure.name == "odd")  # noqa: ARG005
    even = rp.InformationStructure([[0.5], [0.5]], "even")
    odd = rp.InformationStructure([[0.2, 0.3], [0.1, 0.4]], "odd")
    family = FiniteFamily.from_structures([even, odd, even], report=by_name)
    assert family.profiles[family.profile, 0].tolist() == [0.0, 1.0, 1.0, 0.0]
    bad = named("bad", lambda agent, signal, structure: np.nan if structure.name == "odd" else 0.0)  # noqa: ARG005
    with input_error("the report of custom:bad for structure 1, agent 0, signal 0 must be finite"):
        FiniteFamily.from_structures([even, odd], report=bad)
    with input_error(r"custom:short must take \(agent, signal, structure\); for structure 0"):
        FiniteFamily.from_structures([even], report=named("short", lambda signal: 0.5))  # noqa: ARG005


def test_aggregators_have_names() -> None:
    structure = rp.InformationStructure([[0.5, 0.0], [0.0, 0.5]])
    assert rp.regret("mean", structure) == rp.regret(rp.get_rule("mean"), structure) == 0
    assert rp.worst_case("mean").regret == pytest.approx(1 / 16)
    with input_error(
        "rule must be the name of a rule, the file of a design or of a fitted pool, or a callable; it is 3"
    ):
        rp.regret(3, structure)  # type: ignore[arg-type]


def named(name: str, function: Any) -> Any:
    function.__name__ = name
    return function


@given(joints().filter(lambda joint: joint.ndim == 4))
@settings(max_examples=40, deadline=None)
def test_higher_order_reports_of_agents_who_change_places(joint: Any) -> None:
    """Permuting the agents of the structure permutes the profiles in the way that the format says."""
    order = (2, 0, 1)
    family = FiniteFamily.from_structures([rp.InformationStructure(joint)], report="higher-order")
    moved = np.transpose(joint, (0, *(1 + i for i in order)))
    swapped = FiniteFamily.from_structures([rp.InformationStructure(moved)], report="higher-order")
    expected = HigherOrder().permuted(family.reports, order)
    a = np.array(sorted(map(tuple, expected.reshape(len(expected), -1).round(9).tolist())))
    b = np.array(sorted(map(tuple, swapped.reports.reshape(len(expected), -1).round(9).tolist())))
    np.testing.assert_allclose(a, b, atol=2e-9)


def test_order_and_shape_of_structures_do_not_matter() -> None:
    drawn = [rp.InformationStructure(j) for n in (2, 3) for j in random_joints(5, signals=n, resolution=6, rng=n)]
    order = [7, 0, 9, 3, 1, 8, 2, 6, 5, 4]
    family, other = (FiniteFamily.from_structures(some) for some in (drawn, [drawn[i] for i in order]))
    np.testing.assert_array_equal(family.reports, other.reports)
    np.testing.assert_allclose(rp.regrets(mean, family)[order], rp.regrets(mean, other), atol=1e-15)
    assert [rp.regret(mean, s) for s in drawn] == pytest.approx(rp.regrets(mean, family).tolist(), abs=1e-15)


def test_data_are_read_only_and_copied() -> None:
    mine = np.array([[0.5, 0.0], [0.0, 0.5]])
    structure = rp.InformationStructure(mine)
    mine[0, 0] = 7
    assert structure.joint[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        structure.joint[0, 0] = 1


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ([[0.5, 0.2], [0.1, 0.1]], r"probabilities must sum to 1; joint sums to 0\.9\."),
        ([[0.5, np.nan], [0.1, 0.1]], r"joint must be finite; joint\[0\]\[1\] is nan \(1 of 4 entries\)"),
        ([[0.5, -0.2], [0.6, 0.1]], r"probability must not be negative; joint\[0\]\[1\] is -0\.2 \(1 of 4 entries\)"),
        ([[0.5, 0.2], [0.3]], r"joint must be a full array of numbers"),
        ([["a", 0.2]], r"joint must be a full array of numbers"),
        ([0.5, 0.5], r"joint must have an axis for the states and one for each agent; its shape is \(2,\)"),
        ([[0.5, 0.5]], r"joint must have at least two states; it has 1"),
        ([], r"joint must have at least one entry; its shape is \(0,\)"),
    ],
)
def test_bad_structures_get_one_sentence(joint: Any, message: str) -> None:
    with input_error(message):
        rp.InformationStructure(joint)


def test_bad_families_get_one_sentence() -> None:
    two = rp.InformationStructure([[0.5, 0.5], [0.0, 0.0]])
    with input_error("a family must have at least one structure; it is empty"):
        FiniteFamily.from_structures([])
    with input_error("a family must have at least one structure; it is empty"):
        FiniteFamily.from_joints(np.zeros((0, 2, 2)))
    three = rp.InformationStructure([[[0.5, 0.5]], [[0.0, 0.0]]])
    with input_error("structure 1 has 2 states and 2 agents, structure 0 has 2 and 1"):
        FiniteFamily.from_structures([two, three])
    with input_error(r"probabilities must sum to 1; joints\[1\] sums to 0\.5 \(1 of 2 distributions\)"):
        FiniteFamily.from_joints([[[0.5], [0.5]], [[0.25], [0.25]]])
    with input_error(r"agents must be 1 different names; they are \['a', 'b'\]"):
        FiniteFamily.from_structures([two], agents=["a", "b"])
    with input_error(r"1,000,000,000 structures with 8 probabilities each would need about 480 GB of memory"):
        rp.random_family(10**9)


def test_aggregators_are_checked() -> None:
    family = rp.random_family(3)
    count = len(family.reports)
    with input_error(rf"aggregator '<lambda>' must return the shape \({count},\); it returned \({count}, 2\)"):
        rp.regrets(lambda x: x, family)
    with input_error(r"forecast must lie in \[0, 1\]; aggregator '<lambda>' says 2\.0 at reports"):
        rp.regrets(lambda x: 0 * x[:, 0] + 2, family)
    with input_error(r"forecast must lie in \[0, 1\]; aggregator '<lambda>' says nan"):
        rp.regrets(lambda x: 0 * x[:, 0] + np.nan, family)
    with input_error(r"aggregator '<lambda>' failed on \d+ profiles: ZeroDivisionError: division by zero"):
        rp.regrets(lambda _: 1 / 0, family)
    with input_error(r"a forecast must sum to 1; aggregator '<lambda>' says \[0\.5 0\.5 0\.5\]"):
        rp.regrets(lambda x: np.full((len(x), 3), 0.5), rp.random_family(3, states=3))


def test_tables_refuse_profiles_that_they_do_not_know() -> None:
    solution = rp.solve(rp.random_family(20, resolution=4, rng=1))
    with input_error(r"row 1 is \(0\.123, 0\.5\), the nearest profile is \(0, 0\.5\) \(1 of 2 rows\)"):
        solution.aggregator([[0.5, 0.5], [0.123, 0.5]])
    with input_error(r"this design is for 2 agents; there are 3 reports"):
        solution.aggregator([[0.5, 0.5, 0.5]])
    with input_error(r"this design needs a report of every agent; row 0 lacks one"):
        solution.aggregator([[np.nan, 0.5]])
    assert solution.aggregator([[0.1 + 0.2 + 0.2, 1 - 0.5]]).tolist() == solution.aggregator([[0.5, 0.5]]).tolist()
    with input_error(r"forecast must lie in \[0, 1\]; the table has 0 and 2"):
        rp.TableAggregator(np.zeros((2, 1, 1)), np.array([0.0, 2.0]))
    with input_error(r"the shapes are \(2, 1\) and \(2,\)"):
        rp.TableAggregator(np.zeros((2, 1)), np.zeros(2))


def test_a_table_knows_a_report_up_to_twice_the_rounding() -> None:
    """Two numbers near 0.3 are the same if they differ by 3e-10; a table also answers the members of a cluster of them."""
    f = rp.TableAggregator(np.array([[[0.3], [0.3]], [[0.7], [0.3]]]), np.array([0.25, 0.75]))
    for sign in (-1, 1):
        assert f([[0.3, 0.3 + sign * 5.9e-10], [0.7 + sign * 5.9e-10, 0.3]]).tolist() == [0.25, 0.75]
        for wrong in ([0.3 + sign * 6.1e-10, 0.3], [0.7, 0.3 + sign * 6.1e-10], [0.3, 0.7]):  # the last: never together
            with input_error(r"reports must be a profile of the design's family; row 0 is"):
                f([wrong])


@pytest.mark.parametrize("miss", [-0.9e-8, 0.9e-8])
def test_a_distribution_may_miss_1_by_what_people_type(miss: float) -> None:
    joint = rp.InformationStructure([[0.5 + miss, 0.0], [0.0, 0.5]]).joint
    assert joint.sum() == pytest.approx(1, abs=1e-15)
    with input_error(r"probabilities must sum to 1; joint sums to"):
        rp.InformationStructure([[0.5 + 1.2 * miss, 0.0], [0.0, 0.5]])


def test_a_random_family_is_the_same_for_the_same_seed() -> None:
    assert rp.random_family(50, rng=7).fingerprint() == rp.random_family(50, rng=7).fingerprint()
    assert rp.random_family(50, rng=7).fingerprint() != rp.random_family(50, rng=8).fingerprint()
