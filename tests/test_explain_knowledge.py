"""What do you know? Each choice changes the answer as the theory says, is worded honestly, and is refused where it makes no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robustpool as rp
from robustpool.aggregators.rules import RULES
from robustpool.errors import InputError
from robustpool.explanation.answering import Answer, answer, forecast_map
from robustpool.explanation.knowledge import Knowledge, proved_rule, read_knowledge
from robustpool.explanation.posterior import posterior
from robustpool.explanation.typed import MistypedError, entered, entered_distribution
from robustpool.explanation.worst_world import DAYS, worst_worlds
from robustpool.minimax.rows import minimax_rows
from robustpool.views.answer import as_data
from servers import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INNER = st.floats(0.01, 0.99)
REPORTS = st.lists(INNER, min_size=2, max_size=6)


def words(said: Answer, choice: str) -> str:
    return " ".join(said.knowledge[choice])


# ------------------------------------------------------------------------------------------------------- what is typed


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.7", 0.7), ("70%", 0.7), (" 70 % ", 0.7), ("7/10", 0.7), ("0,7", 0.7), ("12,5 %", 0.125), (1, 1.0)],
)
def test_people_type_probabilities_in_many_ways(text: Any, value: float) -> None:
    assert entered(1, text) == value


@pytest.mark.parametrize(
    ("text", "message", "suggestion"),
    [
        ("70", r"^report 2 must lie in \[0, 1\]; it is 70; for 70 % write 0\.7\.$", "70 %"),
        (70, r"^report 2 must lie in \[0, 1\]; it is 70; for 70 % write 0\.7\.$", "70 %"),
        ("170%", r"^report 2 must lie between 0% and 100%; it is 170%\.$", None),
        ("", r"^report 2 is empty; write a probability such as 0\.7 or 70 %\.$", None),
        ("maybe", r"^report 2 must be a number; it is 'maybe'\.$", None),
        ("1,000.5", r"^report 2 must be a number; it is '1,000\.5'\.$", None),
        ("1/0", r"^report 2 must be a number; it is '1/0'\.$", None),
        ("1,000", r"^report 2 must be a number; it is '1,000'", None),
        ("50/50", r"^report 2 is '50/50', which may mean 1 or even odds; write 1 or 0\.5\.$", "50 %"),
        ("-0.1", r"^report 2 must lie in \[0, 1\]; it is -0\.1\.$", None),
        ("inf", r"^report 2 must lie in \[0, 1\]; it is inf\.$", None),
        (True, r"^report 2 must be a number; it is True\.$", None),
        (None, r"^report 2 must be a number; it is None\.$", None),
    ],
)
def test_what_is_no_probability_is_said_with_what_was_meant(text: Any, message: str, suggestion: str | None) -> None:
    with pytest.raises(MistypedError, match=message) as caught:
        entered(2, text)
    assert (caught.value.place, caught.value.suggestion) == (2, suggestion)


def test_a_distribution_must_sum_to_one() -> None:
    with pytest.raises(MistypedError, match=r"^the probabilities of report 1 must sum to 1; they sum to 1\.1\.$"):
        entered_distribution(1, ["60%", "0.3", 0.2], 3)
    with pytest.raises(MistypedError, match=r"^report 1 must be a list of 3 probabilities; it is 0\.5\.$"):
        entered_distribution(1, 0.5, 3)


# ---------------------------------------------------------------------------------------------------------- the choices


@given(REPORTS, st.sampled_from([name for name, rule in RULES.items() if rule.world is None and name != "bordley"]))
@settings(max_examples=30, deadline=None)
def test_without_knowledge_it_is_what_aggregate_says(reports: list[float], rule: str) -> None:
    said = answer(reports, rule)
    assert said.forecast == said.plain == rp.aggregate(reports, rule)
    assert said.knowledge == {}


def test_a_range_for_two_is_its_own_proved_rule() -> None:
    said = answer([0.3, 0.4], know=Knowledge(base_rate=(0.05, 0.2)))
    assert said.used == rp.prior_range_rule(0.05, 0.2).name
    assert said.forecast == rp.aggregate([0.3, 0.4], said.used)
    row = next(row for row in minimax_rows("prior-range") if row.prior_range == (0.05, 0.2))
    assert (said.rules[0].regret, said.rules[0].proved, said.rules[0].chosen) == (row.upper, True, True)
    assert "at most 0.006373 above" in words(said, "base_rate")
    assert "no rule has a smaller worst case than 0.006372 (both proved, without clipping)" in words(said, "base_rate")
    assert "Without that knowledge the rule robust gives 0.346." in said.reason


def test_a_range_that_is_not_on_record_is_proved() -> None:
    proof = proved_rule(0.35, 0.6)
    assert proof is not None
    assert 0 < proof.lower <= proof.upper < 0.0226
    assert proof.rule == rp.prior_range_rule(0.35, 0.6).name


@given(st.lists(INNER, min_size=3, max_size=6), st.tuples(INNER, INNER).map(sorted))
@settings(max_examples=40, deadline=None)
def test_with_three_or_more_a_range_never_takes_the_forecast_from_the_right_answer(
    reports: list[float], ends: Sequence[float]
) -> None:
    low, high = ends
    said = answer(reports, know=Knowledge(base_rate=(low, high)))
    assert isinstance(said.forecast, float)
    assert isinstance(said.plain, float)
    for prior in np.linspace(low, high, 7).tolist():
        right = posterior(prior, np.array(reports))
        assert abs(said.forecast - right) <= abs(said.plain - right) + 1e-12
    assert "moved" in said.rules[0].name or said.forecast == said.plain or low == high


def test_with_three_the_sentence_claims_no_more_than_is_proved() -> None:
    said = answer([0.7, 0.6, 0.9], know=Knowledge(base_rate=(0.05, 0.2)))
    assert words(said, "base_rate").endswith(
        "Whatever the base rate in the range, that is closer to the right answer. So what is proved of robust for any base rate holds "
        "here as well; for three or more forecasters no rule is proved to be best for a range."
    )
    stays = answer([0.7, 0.6, 0.9], know=Knowledge(base_rate=(0.5, 0.9)))
    assert "lies inside, so it stays" in words(stays, "base_rate")
    assert stays.forecast == stays.plain


@pytest.mark.parametrize("reports", [[0.7, 0.6], [0.2, 0.9, 0.5]])
def test_a_known_base_rate_has_one_right_answer(reports: list[float]) -> None:
    said = answer(reports, know=Knowledge(base_rate=(0.2, 0.2)))
    assert said.forecast == pytest.approx(rp.aggregate(reports, "bordley:prior=0.2"), abs=1e-15)
    assert (said.rules[0].name, said.rules[0].regret) == ("bordley:prior=0.2", 0.0)
    assert said.world_sentences == (
        ("With this base rate, the forecast is the right answer in every world with independent evidence.",),
    )


@pytest.mark.parametrize(
    ("reports", "know", "sentence"),
    [
        ([0.7], Knowledge(base_rate=(0.1, 0.2)), "a single report already takes the base rate into account."),
        (
            [0.7, 0.6],
            Knowledge(base_rate=(0.1, 0.2), knows_all=0),
            "that report already takes the base rate into account.",
        ),
        ([0.7, 0.6], Knowledge(base_rate=(0.0, 1.0)), "carries no information, so nothing changes."),
        ([0.7, 0.6], Knowledge(base_rate=(0.2, 0.21)), "for a range this narrow no other rule is looked for."),
    ],
)
def test_a_range_that_says_nothing_is_said_to(reports: list[float], know: Knowledge, sentence: str) -> None:
    assert words(answer(reports, know=know), "base_rate").endswith(sentence)


def test_a_certain_report_leaves_no_room_for_a_range() -> None:
    said = answer([0.0, 0.6], clip=0, know=Knowledge(base_rate=(0.2, 0.8)))
    assert said.forecast == 0
    assert words(said, "base_rate").endswith("a certain report, if it is right, decides at every base rate.")


def test_public_evidence_changes_nothing() -> None:
    two, three = (answer(reports, know=Knowledge(public=True)) for reports in ([0.7, 0.6], [0.7, 0.6, 0.9]))
    assert two.forecast == two.plain
    assert "changes neither the forecast nor what is proved" in words(two, "public")
    assert "only some of them" not in words(two, "public")
    assert words(three, "public").endswith("Evidence that only some of them share is not covered by the proof.")
    ranged = answer([0.7, 0.6], know=Knowledge(public=True, base_rate=(0.05, 0.2)))
    assert words(ranged, "public").endswith("The range is then that of the base rate after the public evidence.")


def test_who_knows_all_is_right() -> None:
    said = answer([0.7, 0.6, 0.9], names=["Ann", "Bob", "Cem"], know=Knowledge(knows_all=1))
    assert said.forecast == 0.6
    assert not any(rule.chosen for rule in said.rules)
    assert "If Bob knows all that the others know" in words(said, "knows_all")
    assert said.world_sentences[0][0].endswith("of 1,000 days with the report 0.600, it happens on about 600.")


def test_if_nobody_knows_who_the_guarantee_is_that_of_two() -> None:
    assert "no rule has a smaller worst case (proved)" in words(
        answer([0.7, 0.6], know=Knowledge(knows_all="unknown")), "knows_all"
    )
    mean = answer([0.7, 0.6], "mean", know=Knowledge(knows_all="unknown"))
    assert "no rule" not in words(mean, "knows_all")
    three = answer([0.7, 0.6, 0.8], know=Knowledge(knows_all="unknown"))
    assert words(three, "knows_all").endswith("for more nothing is proved.")


def test_a_slope_moves_each_report_first() -> None:
    said = answer([0.9, 0.5], know=Knowledge(slope=0.5))
    assert said.forecast == rp.aggregate([0.75, 0.5])
    assert "0.9 counts as 0.750 and 0.5 counts as 0.500" in words(said, "slope")
    assert "That the slope is right is not proved" in words(said, "slope")
    zero = answer([0.0, 0.6], know=Knowledge(slope=0.5))
    assert zero.forecast == pytest.approx(answer([0.01, 0.6], know=Knowledge(slope=0.5)).forecast)  # clipped first


def test_several_outcomes() -> None:
    match = [[0.6, 0.3, 0.1], [0.5, 0.2, 0.3]]
    said = answer(match, know=Knowledge(outcomes=3))
    assert said.forecast == tuple(rp.aggregate([match])[0])
    assert "no rule has a worst case below 0.076278 (proved); that of minimax is at least 0.076329" in words(
        said, "outcomes"
    )
    assert "No upper bound is proved." in words(said, "outcomes")
    more = answer([*match, [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]], know=Knowledge(outcomes=3))
    assert words(more, "outcomes").endswith("no bound is on record, and no upper bound is proved.")
    assert answer(match, know=Knowledge(outcomes=3, knows_all=1)).forecast == (0.5, 0.2, 0.3)
    flat = answer(match, know=Knowledge(outcomes=3, slope=0.5)).forecast
    assert isinstance(flat, tuple)
    assert max(flat) < max(said.forecast)


@pytest.mark.parametrize(
    ("know", "message"),
    [
        ({"base_rate": [0.5, 0.2]}, r"^a range of base rates goes from low to high; it is from 0\.5 to 0\.2\.$"),
        ({"base_rate": ["5", 0.2]}, r"^the low base rate must lie in \[0, 1\]; it is 5; for 5 % write 0\.05\.$"),
        ({"base_rate": [0, 0]}, r"^a base rate of 0 % leaves nothing to forecast\.$"),
        ({"base_rate": 0.5}, r"^a range of base rates has a low and a high end; it is 0\.5\.$"),
        (
            {"base_rate": [0.1, 0.2], "outcomes": 3},
            r"^a range of base rates is for questions with two outcomes; this one has 3\.$",
        ),
        ({"public": 1}, r"^know\.public must be true or false; it is 1\.$"),
        ({"knows_all": 2}, r"^know\.knows_all must be a whole number, at least 0 and at most 1; it is 2\.$"),
        ({"slope": 1.5}, r"^the slope of over-confident forecasters lies in \[0\.1, 1\]; it is 1\.5\.$"),
        ({"slope": "x"}, r"^the slope of over-confident forecasters lies in \[0\.1, 1\]; it is x\.$"),
        ({"outcomes": 99}, r"^know\.outcomes must be a whole number, at least 2 and at most 20; it is 99\.$"),
        ({"mood": 1}, r"^know may have base_rate, public, knows_all, slope, outcomes; it has 'mood'\.$"),
        ([], r"^know must be an object with what is known; it is \[\]\.$"),
    ],
)
def test_what_cannot_be_known_is_refused(know: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_knowledge(know, 2)


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(InputError, match=r"^weights do not apply if one forecaster knows all that the others know\.$"):
        answer([0.7, 0.6], weights=[1, 2], know=Knowledge(knows_all=0))
    with pytest.raises(
        InputError, match=r"^a range of base rates is for independent evidence; the rule common-source is for"
    ):
        answer([0.7, 0.6], "common-source", know=Knowledge(base_rate=(0.1, 0.2)))
    with pytest.raises(InputError, match=r"^names must be one for each of the 2 reports; there are 1\.$"):
        answer([0.7, 0.6], names=["Ann"])


def test_nothing_is_claimed_of_weighted_rules() -> None:
    said = answer([0.7, 0.6], weights=[1, 3])
    assert said.forecast == rp.aggregate([0.7, 0.6], weights=[1, 3])
    assert all(rule.regret is None for rule in said.rules)
    assert "median" not in {rule.name for rule in said.rules}
    assert said.why is not None
    assert said.why.on_rules == ("The recorded worst cases are for rules without weights, so none is shown.",)
    assert "is not proved here." in " ".join(said.reason)


@pytest.mark.parametrize(
    "know",
    [
        Knowledge(),
        Knowledge(base_rate=(0.05, 0.2)),
        Knowledge(base_rate=(0.2, 0.22)),
        Knowledge(slope=0.6),
        Knowledge(knows_all=1),
    ],
)
def test_the_map_has_the_answers(know: Knowledge) -> None:
    table = forecast_map("robust", None, None, know)
    for i, j in [(70, 60), (0, 100), (0, 40), (99, 98), (50, 50)]:
        assert table[i, j] == pytest.approx(answer([i / 100, j / 100], know=know).forecast, abs=1e-15)


# -------------------------------------------------------------------------------------------------------- the worst world


@given(REPORTS, st.floats(0.01, 0.99))
@settings(max_examples=60, deadline=None)
def test_a_world_has_whole_days_that_add_up(reports: list[float], forecast: float) -> None:
    for world in worst_worlds(np.array(reports), forecast):
        assert world.days in DAYS
        assert 0 <= world.together_happens <= min(world.happens, world.together)
        assert world.together - world.together_happens <= world.days - world.happens
        assert world.forecast_is == ("too low" if forecast < world.right_answer else "too high")
        if world.together >= 100:
            assert abs(world.together_happens / world.together - world.right_answer) < 0.02


@given(
    st.lists(INNER, min_size=2, max_size=3),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
    st.randoms(use_true_random=False),
)
@settings(max_examples=80, deadline=None)
def test_no_world_costs_more_at_these_reports(reports: list[float], forecast: float, prior: float, random: Any) -> None:
    """Draw structures in which the reports can come, and compare with the one that is called the worst."""
    pairs = [
        sorted((report, random.uniform(0, prior) if report > prior else random.uniform(prior, 1))) for report in reports
    ]
    structure = rp.BinaryStructure(prior, pairs)
    here = np.isclose(structure.profiles(), reports).all(axis=1)
    chance, right = structure.probabilities()[here].sum(), structure.posteriors()[here][0]
    worlds = worst_worlds(np.array(reports), forecast)
    assert chance * (forecast - right) ** 2 <= max((world.cost for world in worlds), default=0) * (1 + 1e-6) + 1e-12


def test_at_one_half_the_worst_world_is_that_of_the_theorem() -> None:
    worst, other = worst_worlds(np.array([0.5, 0.5]), 0.5)
    assert worst.cost == pytest.approx((5 * 5**0.5 - 11) / 8)
    assert other.cost == pytest.approx(worst.cost)
    assert {(worst.happens, worst.together), (other.happens, other.together)} == {(191, 236), (809, 236)}
    assert all(world.happens >= 191 for world in worst_worlds(np.array([0.5, 0.5]), 0.5, (0.25, 1.0)))


def test_the_words_of_a_world() -> None:
    first, second = answer([0.7, 0.6], names=["Ann", ""]).world_sentences
    assert first[0] == (
        "Suppose that of 1,000 such days it happens on 890. Ann says 0.7 or is certain that it happens; "
        "forecaster 2 says 0.6 or is certain that it happens."
    )
    assert first[2] == "On the other 843 days at least one of them is certain, and right; it happens on 843 of these."
    assert second[0].startswith("It can also be too low. Suppose that of 1,000 such days it happens on 298.")


# ------------------------------------------------------------------------------------------------------------------- HTTP


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data")) as started:
        yield started


def test_the_api_gives_what_the_library_says(server: Server) -> None:
    body = {"forecasts": ["70 %", 0.6], "names": ["Ann", "Bob"], "know": {"base_rate": ["5%", 0.2]}}
    reply = server.call("POST", "explain", json=body)
    assert reply.status_code == 200
    said = answer([0.7, 0.6], names=["Ann", "Bob"], know=Knowledge(base_rate=(0.05, 0.2)))
    got = reply.json()
    assert got == {"problems": []} | as_data(said)
    assert (got["text"], got["percent"], got["plain"]["text"]) == ("0.943", "94.3 %", "0.654")
    assert got["map"].startswith("data:image/png;base64,")


def test_a_proof_that_takes_time_is_waited_for(server: Server) -> None:
    got = server.call("POST", "explain", json={"forecasts": [0.7, 0.6], "know": {"base_rate": [0.35, 0.6]}}).json()
    assert got["rules"][0]["what"].endswith("proved")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"forecasts": ["70", 0.6]}, "report 1 must lie in [0, 1]; it is 70; for 70 % write 0.7."),
        ({"forecasts": []}, "forecasts must be a list of at least one forecast."),
        ({"forecasts": 0.5}, "forecasts must be a list of at least one forecast."),
        ({"forecasts": [0.5] * 101}, "explain takes at most 100 forecasts; these are 101."),
        ({"forecasts": [0.5], "rule": 3}, "rule must be the name of a rule; it is 3."),
        ({"forecasts": [0.5], "weights": [0]}, "weights must be positive numbers; they are [0]."),
        ({"forecasts": [0.5], "weights": [1, 2]}, "weights must be a list of 1 numbers, one for each forecast."),
        ({"forecasts": [0.5], "names": ["a" * 81]}, "a name may have at most 80 characters; one has 81."),
        ({"forecasts": [0.5], "names": [1]}, "names must be a list of 1 texts, one for each forecast."),
        ({"forecasts": [0.5], "clip": 0.7}, "clip must lie in [0, 0.5); it is 0.7."),
        (
            {"forecasts": [0.5], "prior": 0.7},
            "explain takes forecasts, names, rule, weights, clip, know; it was given 'prior'.",
        ),
        (
            {"forecasts": [0.5], "know": {"slope": 3}},
            "the slope of over-confident forecasters lies in [0.1, 1]; it is 3.",
        ),
    ],
)
def test_bad_input_is_a_problem(server: Server, body: dict[str, Any], detail: str) -> None:
    reply = server.call("POST", "explain", json=body)
    assert (reply.status_code, reply.json()["detail"]) == (422, detail)
    lenient = server.call("POST", "explain", json=body, headers={"Prefer": "handling=lenient"})
    assert (lenient.status_code, lenient.json()["problems"][0]["detail"]) == (200, detail)


def test_a_problem_names_its_field(server: Server) -> None:
    def problems(body: dict[str, Any]) -> Any:
        return server.call("POST", "explain", json=body, headers={"Prefer": "handling=lenient"}).json()["problems"][0]

    typed = problems({"forecasts": [0.5, "70"]})
    assert (typed["forecast"], typed["suggestion"]) == (1, "70 %")
    assert problems({"forecasts": [0.5], "know": {"slope": 3}})["know"] == "slope"


def test_a_rule_is_never_a_file(server: Server) -> None:
    reply = server.call("POST", "explain", json={"forecasts": [0.5, 0.6], "rule": "/etc/passwd.json"})
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("rule must be one of robust, ")
