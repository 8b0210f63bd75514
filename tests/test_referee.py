"""The referee's checker: it accepts what the package certifies, and refuses forgeries next to the truth."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import json
import math
import os
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import robustpool as rp
from programs import run_python
from robustpool import referee

Data = dict[str, Any]
SOURCE = Path(referee.__file__)
WHOLE = (0.0, 1.0)
CASES: dict[str, tuple[str, int, tuple[float, float], float]] = {  # rule, agents, priors, tolerance
    "theorem": ("minimax:b=0.1", 2, WHOLE, 1e-9),
    "theorem, some priors": ("minimax:b=0.5", 2, (0.1, 0.3), 1e-9),
    "slopes": ("log-odds:alpha=0.6", 2, WHOLE, 1e-9),
    "three agents": ("geometric-odds", 3, WHOLE, 1e-5),
    "minimax for three": ("minimax:unanimous=0", 3, WHOLE, 1e-5),
    "one agent": ("extremized-odds", 1, WHOLE, 1e-5),
    "neyman": ("neyman-odds", 2, WHOLE, 1e-5),
    "product": ("product", 2, WHOLE, 1e-5),
    "priors below 1/2": ("geometric-odds", 2, (0.05, 0.5), 1e-5),
    "priors around 1/2": ("geometric-odds", 2, (0.45, 0.6), 1e-5),
    "priors above 1/2": ("log-odds:alpha=0.6", 2, (0.7, 0.9), 1e-5),
    "shift": ("bordley:prior=0.4", 2, (0.2, 0.7), 1e-9),
    "shift, priors above 1/2": ("bordley:prior=0.4", 2, (0.6, 0.8), 1e-5),
    "negative slopes": ("bordley:prior=0.9", 2, (0.3, 0.5), 1e-7),
}


def as_format_2(data: Data) -> Data:
    """The certificate in format 2, whatever format the package writes."""
    if data["format"].endswith("/2"):
        return data
    data = {**data, "format": "robustpool-certificate/2", "claims": [data["claim"]]}
    del data["claim"]
    data["aggregator"] = {key: value for key, value in data["aggregator"].items() if key != "name"}
    data["upper"] = {key: value for key, value in data["upper"].items() if key != "arithmetic"}
    return data


@cache
def made(case: str) -> str:
    rule, agents, priors, tolerance = CASES[case]
    family = rp.ConditionallyIndependent(agents, None, None, prior_range=priors)
    return json.dumps(as_format_2(rp.certify(rule, family, tolerance=tolerance).data))


def certificate(case: str) -> Data:
    data: Data = json.loads(made(case))
    return data


@pytest.fixture(autouse=True)
def _precision() -> Iterator[None]:
    before = ctx.prec
    yield
    ctx.prec = before


Check = Callable[[Data | bytes], tuple[int, str]]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Run the file as a script, in this process: its exit status, and what it says."""

    def run(data: Data | bytes) -> tuple[int, str]:
        path = tmp_path / "certificate.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        monkeypatch.setattr(sys, "argv", ["referee.py", str(path)])
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                runpy.run_path(str(SOURCE), run_name="__main__")
        except SystemExit as refusal:
            return 1, output.getvalue() + str(refusal.code)
        return 0, output.getvalue()

    return run


def by_hand(**parts: Any) -> Data:
    """A certificate on the geometric mean of odds for two agents, or on what the parts say."""
    return {
        "format": "robustpool-certificate/2",
        "family": {"kind": "conditionally-independent", "agents": 2, "prior_range": [0.0, 1.0]},
        "loss": "square",
        "paradigm": "additive",
        "aggregator": {"kind": "log-odds", "phi": {"form": "linear", "alpha": "1/2", "shift": 0.0}},
        **parts,
    }


def family(low: float | str = 0.0, high: float | str = 1.0, agents: Any = 2) -> Data:
    return {"kind": "conditionally-independent", "agents": agents, "prior_range": [low, high]}


def structure(prior: str, *reports: list[str], weight: str = "1") -> Data:
    return {"weight": weight, "prior": prior, "reports": list(reports)}


def double_below(number: Fraction) -> float:
    """The largest double that is not above a number."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


# ------------------------------------------------------------------------------------------------------------ the file


def test_it_is_short_and_stands_alone() -> None:
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= 275
    assert max(map(len, text.splitlines())) <= 120
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).split(".")[0])
        assert not (isinstance(node, ast.Name) and node.id in {"eval", "exec", "__import__"})
    assert "robustpool" not in names
    assert names - {"flint"} <= sys.stdlib_module_names


def test_it_runs_as_a_module_and_as_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(made("theorem"))
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent.parent)}
    module = run_python("-m", "robustpool.referee", str(path), env=environment)
    assert (module.returncode, module.stderr) == (0, "")
    assert module.stdout == (
        "Agents: 2, independent given state and public evidence. Prior after it: 0.0 to 1.0. Square loss.\n"
        "Rule: logit f = s (0.5 + 0.1 tanh(s/4.0)^2), where s is the sum of the reports' log-odds.\n"
        "Proved: the rule's worst-case regret is at most 0.022542485937368562.\n"
        f"Proved: the rule's worst-case regret is at least {certificate('theorem')['lower']['bound']}.\n"
        f"Proved: every aggregator's worst-case regret is at least {certificate('theorem')['value']['bound']}.\n"
    )
    copied = shutil.copy(SOURCE, tmp_path / "checker.py")
    forged = certificate("theorem")
    forged["upper"]["bound"] = math.nextafter(forged["upper"]["bound"], 0)
    for name, data, status, words in (
        ("good", certificate("theorem"), 0, ""),
        ("forged", forged, 1, "The upper bound is less than (5 sqrt 5 - 11)/8.\n"),
    ):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(data))
        run = run_python("-I", str(copied), str(path), cwd=tmp_path)
        assert (run.returncode, run.stderr) == (status, words)


# ------------------------------------------------------------------------------------------------------------ accepted


@pytest.mark.parametrize("case", CASES)
def test_what_the_package_certifies_is_accepted(case: str, check: Check) -> None:
    data = certificate(case)
    data["label"] = data["claims"] = "Anything can stand here."
    status, words = check(data)
    assert status == 0, words
    assert "Anything" not in words
    assert f"at most {data['upper']['bound']}." in words
    assert f"at least {data['lower']['bound']}." in words
    assert "value" not in data or f"every aggregator's worst-case regret is at least {data['value']['bound']}." in words


def test_of_a_table_only_the_value_is_checked(check: Check) -> None:
    value = certificate("theorem")["value"]
    data = by_hand(aggregator={"kind": "grid", "values": [[0, 1], [0, 1]]}, upper={"bound": 0.001}, value=value)
    status, words = check(data)
    assert status == 0
    assert "Not checked: upper and lower bounds, as the aggregator is not a log-odds rule." in words
    assert "most" not in words
    assert "Rule" not in words
    del data["value"]
    assert check(data) == (1, "There is nothing to check.")


def test_a_claim_by_hand(check: Check) -> None:
    """The example of the derivation."""
    slopes = {"kind": "slopes", "below": {"logits": [-0.85, -0.6, -0.4], "kappas": [0.0195, 0.0160, 0.0119]}}
    data = by_hand(family=family("3/10", "2/5"), upper={"bound": "232/10000", "witness": slopes})
    status, words = check(data)
    assert status == 0
    assert words == (
        "Agents: 2, independent given state and public evidence. Prior after it: 3/10 to 2/5. Square loss.\n"
        "Rule: logit f = 1/2 s - (0.0), where s is the sum of the reports' log-odds.\n"
        "Proved: the rule's worst-case regret is at most 232/10000.\n"
    )
    data["family"] = family("3/5", "7/10")  # mirrored, and the rule is its own mirror image
    assert check(data)[0] == 0
    data["upper"]["bound"] = "225/10000"
    assert check(data)[0] == 1


# ---------------------------------------------------------------------------------------------- forged: the upper bound

NOT_SHOWN = "The upper bound is not shown at prior log-odds"
NOT_COVERED = "The slopes do not cover the range of the priors from end to end."


def test_the_theorem_one_ulp_below_the_value(check: Check) -> None:
    data = certificate("theorem")
    assert data["upper"]["bound"] == 0.022542485937368562
    data["upper"]["bound"] = math.nextafter(data["upper"]["bound"], 0)
    assert check(data) == (1, "The upper bound is less than (5 sqrt 5 - 11)/8.")
    data["upper"]["bound"] = -3
    assert check(data) == (1, "The upper bound is less than (5 sqrt 5 - 11)/8.")


@pytest.mark.parametrize(
    ("b", "status"),
    [(0.0799, 1), (0.08, 0), ("2/25", 0), ("1999/25000", 1), (0.35, 0), (0.9, 1), ("9/10", 0), (0.9001, 1), (0.0, 1)],
)
def test_the_theorem_holds_for_its_range_of_b(b: float | str, status: int, check: Check) -> None:
    data = certificate("theorem")
    data["aggregator"]["phi"]["b"] = b
    del data["lower"]
    assert check(data)[0] == status


@pytest.mark.parametrize(
    ("b", "words"),
    [
        (fmpq(1, 100), "The theorem is not shown for small priors or posteriors."),
        (fmpq(6, 100), "The upper bound is not shown at prior log-odds"),
        (fmpq(1), "The upper bound is not shown at prior log-odds"),
        (fmpq(6, 5), "The Hessian is not shown to be negative definite."),
    ],
)
def test_the_slopes_of_the_theorem_need_about_that_range(b: fmpq, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the range does not refuse b, one of the steps does."""
    ends = {(2, 25): fmpq(0), (9, 10): fmpq(2)}
    monkeypatch.setattr(referee, "fmpq", lambda *parts: ends.get(parts, fmpq(*parts)))
    ctx.prec = 80
    with pytest.raises(SystemExit, match=words):
        referee.theorem((fmpq(1, 2), b, fmpq(4), fmpq(0), fmpq(0)), 2, fmpq(1))


def test_the_regions_of_the_theorem_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    regions: list[Any] = []
    monkeypatch.setattr(referee, "prove", lambda *arguments: regions.extend(arguments))
    ctx.prec = 80
    referee.theorem((fmpq(1, 2), fmpq(1, 10), fmpq(4), fmpq(0), fmpq(0)), 2, fmpq(1))
    agents, value, pieces, known = regions
    (_, first, *small, left), (_, second, *large, end) = pieces
    assert agents == 2
    assert float(value) == pytest.approx((5 * math.sqrt(5) - 11) / 8, rel=1e-15)
    assert math.exp(small[0]) < value
    assert small[1] == large[0] < 0 == large[1]
    assert left == -16
    assert end == -math.inf
    assert small[0] < known[0] < math.log((3 - math.sqrt(5)) / (1 + math.sqrt(5))) < known[1] < small[1]
    assert [known[2], known[3]] == [-known[1], -known[0]]
    assert [float(number) for number in first(arb(-2))] == [float(value), 0]
    for m in (-1.0, -0.3, 0.0):
        prior, step = 1 / (1 + math.exp(-m)), arb(2) ** -30
        kappa, change = second(arb(m))
        assert float(kappa) == pytest.approx(7 / 40 * prior * (1 - 2 * prior), abs=1e-16)
        assert float((second(arb(m) + step)[0] - kappa) / step) == pytest.approx(float(change), abs=1e-8)


@pytest.mark.parametrize(("name", "number"), [("a", 0.5000000000000001), ("k", 4.000000000000001), ("k", "401/100")])
def test_the_theorem_is_for_one_a_and_k(name: str, number: float | str, check: Check) -> None:
    data = certificate("theorem")
    data["aggregator"]["phi"][name] = number
    assert check(data)[1].startswith("The theorem is for two agents")


def test_the_theorem_is_for_two_agents(check: Check) -> None:
    data = certificate("theorem")
    data["family"]["agents"] = 3
    assert check(data)[1].startswith("The theorem is for two agents")
    data = certificate("three agents")
    data["upper"]["witness"] = {"kind": "theorem"}
    assert check(data)[1].startswith("The theorem is for two agents")


@pytest.mark.parametrize("case", ["slopes", "three agents", "one agent", "priors above 1/2", "negative slopes"])
def test_less_than_the_worst_case_is_refused(case: str, check: Check) -> None:
    data = certificate(case)
    data["upper"]["bound"] = data["lower"]["bound"] - 1e-8
    assert check(data)[1].startswith(NOT_SHOWN)


@pytest.mark.parametrize("case", ["priors below 1/2", "priors around 1/2", "priors above 1/2", "shift"])
@pytest.mark.parametrize("end", ["first", "last"])
def test_slopes_without_their_first_or_last_node(case: str, end: str, check: Check) -> None:
    for side in certificate(case)["upper"]["witness"].keys() - {"kind"}:
        data = certificate(case)
        nodes = data["upper"]["witness"][side]
        kept = slice(1, None) if end == "first" else slice(-1)
        data["upper"]["witness"][side] = {key: numbers[kept] for key, numbers in nodes.items()}
        assert check(data) == (1, NOT_COVERED)


def test_priors_from_0_need_a_slope_of_at_least_the_first_prior(check: Check) -> None:
    data = certificate("slopes")
    nodes = data["upper"]["witness"]["below"]
    prior = 1 / (1 + math.exp(-nodes["logits"][0]))
    nodes["kappas"][0] = prior * (1 - 1e-15)
    assert check(data) == (1, NOT_COVERED)
    nodes["kappas"][0] = 3 * data["upper"]["bound"]
    assert check(data)[1].startswith(NOT_SHOWN)
    nodes = certificate("slopes")["upper"]["witness"]["below"]
    start = next(i for i, m in enumerate(nodes["logits"]) if 1 / (1 + math.exp(-m)) > nodes["kappas"][i])
    for skipped, verdict in ((start - 1, 0), (start, 1)):
        data["upper"]["witness"]["below"] = {key: numbers[skipped:] for key, numbers in nodes.items()}
        assert check(data)[0] == verdict
    assert check(data) == (1, NOT_COVERED)


@pytest.mark.parametrize(
    ("case", "change"),
    [("slopes", -1e-4), *((case, d) for case in ("three agents", "negative slopes") for d in (-1e-4, 1e-4))],
)
def test_a_moved_slope(case: str, change: float, check: Check) -> None:
    """At the worst prior the slope is given up to the slack."""
    data = certificate(case)
    prior = Fraction(data["lower"]["mixture"][0]["prior"])
    prior = min(prior, 1 - prior)
    nodes = data["upper"]["witness"]["below"]
    distances = [abs(1 / (1 + math.exp(-logit)) - float(prior)) for logit in nodes["logits"]]
    nodes["kappas"][distances.index(min(distances))] += change
    assert check(data)[1].startswith(NOT_SHOWN)


def test_nodes_out_of_order(check: Check) -> None:
    for change in ("swapped", "repeated", "lost"):
        data = certificate("shift")
        nodes = data["upper"]["witness"]["below"]
        if change == "swapped":
            nodes["logits"][1:3] = nodes["logits"][2:0:-1]
        elif change == "repeated":
            nodes["logits"][2] = nodes["logits"][1]
        else:
            del nodes["kappas"][1]
        assert check(data) == (1, "The nodes are not in order.")


def test_one_node_proves_nothing(check: Check) -> None:
    """The range is the prior 1/2 alone, which the node reaches exactly."""
    witness = {"kind": "slopes", "below": {"logits": [0.0], "kappas": [0.0]}}
    data = by_hand(family=family(0.5, 0.5), upper={"bound": 1e-6, "witness": witness})
    assert check(data) == (1, "The nodes are not in order.")


def test_the_mirrored_rule_needs_its_own_slopes(check: Check) -> None:
    data = certificate("shift")
    witness = data["upper"]["witness"]
    swapped = copy.deepcopy(data)
    swapped["upper"]["witness"] |= {"below": witness["above"], "above": witness["below"]}
    assert check(swapped)[0] == 1
    mirrored = copy.deepcopy(data)
    mirrored["aggregator"]["phi"]["shift"] *= -1
    del mirrored["lower"]
    assert check(mirrored)[0] == 1
    above = witness.pop("above")
    assert check(data)[0] == 1
    del data["lower"], data["value"]
    data["family"] = family(0.3, 0.7)
    witness["below"] = above  # it is right for the mirrored rule, but there is nothing for the rule itself
    assert check(data) == (1, UNREADABLE)


def test_slopes_of_the_rule_prove_nothing_of_its_mirror_image(check: Check) -> None:
    data = certificate("shift")
    del data["lower"], data["value"]
    data["family"] = family(0.2, 0.5)
    assert check(data)[0] == 0
    data["family"] = family(0.5, 0.8)
    data["upper"]["witness"]["above"] = data["upper"]["witness"]["below"]
    assert check(data)[1].startswith(NOT_SHOWN)


@pytest.mark.parametrize(
    ("low", "high", "status"), [(0.45, 0.6, 0), (0.4, 0.55, 0), (0.41, 0.41, 0), (0.39, 0.55, 1), (0.45, 0.61, 1)]
)
def test_one_list_for_both_halves_reaches_the_farther_end(low: float, high: float, status: int, check: Check) -> None:
    data = certificate("priors around 1/2")
    del data["lower"], data["value"]
    data["family"] = family(low, high)
    assert check(data)[0] == status


@pytest.mark.parametrize("end", ["low", "high"])
def test_priors_one_ulp_beyond_the_nodes(end: str, check: Check) -> None:
    """Sharp to the last place: accepted if and only if the nodes reach the end of the range."""
    slopes = {"kind": "slopes", "below": {"logits": [-0.85, -0.6, -0.4], "kappas": [0.0195, 0.0160, 0.0119]}}
    node = -0.85 if end == "low" else -0.4
    number = 1 / (1 + math.exp(-node))
    numbers = [number]
    for _ in range(3):
        numbers = [math.nextafter(numbers[0], 0), *numbers, math.nextafter(numbers[-1], 1)]
    verdicts = []
    for prior in numbers:
        with localcontext() as context:
            context.prec = 60
            logit = (Decimal(prior) / (1 - Decimal(prior))).ln()
            covered = logit >= Decimal(node) if end == "low" else logit <= Decimal(node)
        data = by_hand(upper={"bound": 0.0232, "witness": slopes})
        data["family"] = family(prior, 0.4) if end == "low" else family(0.31, prior)
        assert check(data)[0] == (0 if covered else 1)
        verdicts.append(covered)
    assert {True, False} == set(verdicts)


# --------------------------------------------------------------------------- forged: the lower bound and the value

TOO_MUCH = "The mixture shows less than the {} bound."


def product_regret(prior: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The product rule f = xy/(xy + (1-x)(1-y)) on two agents who report low or high: all fractions."""
    chance = (prior - low) / (high - low)
    total = Fraction(0)
    for x, p in ((high, chance), (low, 1 - chance)):
        for y, q in ((high, chance), (low, 1 - chance)):
            one, zero = p * q * x * y / prior, p * q * (1 - x) * (1 - y) / (1 - prior)
            forecast, posterior = x * y / (x * y + (1 - x) * (1 - y)), one / (one + zero)
            total += (one + zero) * (forecast - posterior) ** 2
    return total


def test_a_lower_bound_one_ulp_above_the_regret(check: Check) -> None:
    prior, low, high = Fraction(1, 5), Fraction(1, 10), Fraction(7, 10)
    bound = double_below(product_regret(prior, low, high))
    data = by_hand(aggregator={"kind": "log-odds", "phi": {"form": "linear", "alpha": 1, "shift": 0}})
    data["lower"] = {"bound": bound, "mixture": [structure("1/5", ["1/10", "7/10"], ["1/10", "7/10"])]}
    assert check(data)[0] == 0
    data["lower"]["bound"] = math.nextafter(bound, 1)
    assert check(data) == (1, TOO_MUCH.format("lower"))


@pytest.mark.parametrize("case", ["theorem", "three agents", "one agent", "shift"])
def test_a_lower_bound_above_the_certified_one(case: str, check: Check) -> None:
    data = certificate(case)
    del data["upper"]
    data["lower"]["bound"] += 1e-15
    assert check(data) == (1, TOO_MUCH.format("lower"))


def mirrored_pair(prior: Fraction) -> list[Data]:
    return [
        structure(str(prior), ["0", "1/2"], ["0", "1/2"], weight="1/2"),
        structure(str(1 - prior), ["1/2", "1"], ["1/2", "1"], weight="1/2"),
    ]


def test_a_value_one_ulp_above_the_exact_one(check: Check) -> None:
    prior = Fraction(1875749, 9821549)
    exact = prior / (1 - prior) * (Fraction(1, 2) - prior) ** 2
    accepted = [double_below(exact), str(exact)]
    refused = [math.nextafter(double_below(exact), 1), str(exact + Fraction(1, 10**30))]
    for status, bounds in enumerate((accepted, refused)):
        for bound in bounds:
            data = by_hand(value={"bound": bound, "mixture": mirrored_pair(prior)})
            assert check(data)[0] == status
    assert check(data) == (1, TOO_MUCH.format("value"))


def test_reports_are_the_same_only_if_they_are_the_same_fraction(check: Check) -> None:
    pair = mirrored_pair(Fraction(1, 5))
    data = by_hand(value={"bound": 0.02, "mixture": pair})
    assert check(data)[0] == 0
    pair[0]["reports"][0][1] = "50000000000000000000000000000000000000001/100000000000000000000000000000000000000000"
    assert check(data) == (1, TOO_MUCH.format("value"))
    pair[0]["reports"][0][1] = "2/4"
    assert check(data)[0] == 0


def test_an_agent_who_learns_nothing(check: Check) -> None:
    """The other's report is the posterior g, and the rule sees logit g + logit mu."""
    g, mu = 0.8, 0.2
    forecast = 1 / (1 + math.exp(-(math.log(4) - math.log(4)) / 2))
    regret = mu / g * (forecast - g) ** 2
    data = by_hand(lower={"bound": regret - 1e-15, "mixture": [structure("1/5", ["0", "4/5"], ["1/5", "1/5"])]})
    assert check(data)[0] == 0
    data["lower"]["bound"] = regret + 1e-15
    assert check(data) == (1, TOO_MUCH.format("lower"))


def test_weights_sum_to_1_exactly(check: Check) -> None:
    pair = mirrored_pair(Fraction(1, 5))
    for surplus in (Fraction(1, 10**18), -Fraction(1, 10**18)):
        pair[0]["weight"] = str(Fraction(1, 2) + surplus)
        data = by_hand(value={"bound": 0.01, "mixture": pair})
        assert check(data) == (1, "The weights of a mixture do not sum to 1.")
    data["value"]["mixture"] = []
    assert check(data) == (1, "The weights of a mixture do not sum to 1.")


NOT_IN_FAMILY = "A mixture has a structure that is not in the family."


@pytest.mark.parametrize(
    "entry",
    [
        structure("1/5", ["0", "1/2"]),
        structure("1/5", ["0", "1/2"], ["0", "1/2"], ["0", "1/2"]),
        structure("1/5", ["1/4", "1/2"], ["0", "1/2"]),
        structure("1/5", ["0", "1/6"], ["0", "1/2"]),
        structure("1/5", ["-1/10", "1/2"], ["0", "1/2"]),
        structure("1/5", ["0", "11/10"], ["0", "1/2"]),
        structure("1/5", ["1/2", "0"], ["0", "1/2"]),
        structure("0", ["0", "1/2"], ["0", "1/2"]),
        structure("1", ["0", "1"], ["0", "1"]),
        structure("1/5", ["0", "1/2"], ["0", "1/2"], weight="0"),
        structure("1/5", ["0", "1/2"], ["0", "1/2"], weight="-1"),
    ],
)
@pytest.mark.parametrize("part", ["lower", "value"])
def test_structures_outside_the_family(part: str, entry: Data, check: Check) -> None:
    assert check(by_hand(**{part: {"bound": 0.0, "mixture": [entry]}})) == (1, NOT_IN_FAMILY)


def test_a_prior_one_ulp_outside_the_range(check: Check) -> None:
    data = by_hand(value={"bound": 0.02, "mixture": mirrored_pair(Fraction(0.2))})
    data["family"] = family(0.2, str(1 - Fraction(0.2)))
    assert check(data)[0] == 0
    data["family"] = family(math.nextafter(0.2, 1), 1.0)
    assert check(data) == (1, NOT_IN_FAMILY)


def test_another_number_of_agents(check: Check) -> None:
    for case in ("slopes", "three agents"):
        data = certificate(case)
        data["family"]["agents"] += 1
        assert check(data)[0] == 1
        del data["upper"]
        assert check(data) == (1, NOT_IN_FAMILY)


# ------------------------------------------------------------------------------------------------------- unreadable

UNREADABLE = "The file cannot be read, or is no certificate."
NUMBER = "A number is not finite, or no number."


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\x00\xff\xfe", b"{", b"[]", b"3", b"null", b'"text"', b"{}"),
        *(b"[" * 100_000, b'{"family":' * 100_000, b"1" * 100_000, b'{"format": 1, "format": 1}'),
    ],
    ids=lambda content: str(content[:12]),
)
def test_bytes_that_are_no_certificate(content: bytes, check: Check) -> None:
    assert check(content) == (1, UNREADABLE)


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["referee.py", str(tmp_path)], ["referee.py", str(tmp_path / "nothing")]):
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit, match=UNREADABLE):
            runpy.run_path(str(SOURCE), run_name="__main__")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["a.json", "b.json"]], ids=str)
def test_the_usage(arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["referee.py", *arguments])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(SOURCE), run_name="__main__")
    assert stop.value.code == 2
    assert capsys.readouterr().err == "usage: python -m robustpool.referee CERT.json\n"


def test_a_key_that_stands_twice(check: Check) -> None:
    text = made("theorem").replace('"bound":', '"bound": 1.0, "bound":', 1)
    assert text != made("theorem")
    assert check(text.encode()) == (1, UNREADABLE)


def test_too_long(check: Check) -> None:
    assert check(b" " * 5_000_001) == (1, "The file is longer than 5 MB.")


@pytest.mark.parametrize(
    "text",
    [
        *("NaN", "Infinity", "1e999", "true", "null", "[1]", "1" + "0" * 301),
        *('"0.02"', '"1/2/3"', '"٣"', '"1e-3"', '" 1"', '""', '"' + "0" * 1001 + '"', '"1/' + "1" * 1001 + '"'),
    ],
)
@pytest.mark.parametrize("part", ["upper", "lower", "value"])
def test_numbers_that_are_none(part: str, text: str, check: Check) -> None:
    data = by_hand(**{part: {"bound": "HERE"}})
    assert check(json.dumps(data).replace('"HERE"', text).encode()) == (1, NUMBER)


@pytest.mark.parametrize("text", ['"1/0"', "1" * 5000])
def test_numbers_that_cannot_be_read(text: str, check: Check) -> None:
    data = certificate("theorem")
    data["upper"]["bound"] = "HERE"
    assert check(json.dumps(data).replace('"HERE"', text).encode()) == (1, UNREADABLE)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), "robustpool-certificate/1", referee.UNCHECKED),
        (("loss",), "convex", referee.UNCHECKED),
        (("loss",), "log", "The theorem is for the square loss."),
        (("paradigm",), "ratio", referee.UNCHECKED),
        (("family", "kind"), "finite", referee.UNCHECKED),
        (("family", "agents"), True, "The family is out of bounds."),
        (("family", "agents"), 2.0, "The family is out of bounds."),
        (("family", "agents"), 0, "The family is out of bounds."),
        (("family", "agents"), 101, "The family is out of bounds."),
        (("family", "prior_range"), [0.0, 1.1], "The family is out of bounds."),
        (("family", "prior_range"), [-0.1, 1.0], "The family is out of bounds."),
        (("family", "prior_range"), [0.6, 0.4], "The family is out of bounds."),
        (("family", "prior_range"), [0.6], UNREADABLE),
        (("family", "prior_range"), [0, 0.5, 1], UNREADABLE),
        (("family", "prior_range"), [0, True], NUMBER),
        (("aggregator", "phi", "form"), "cubic", UNREADABLE),
        (("aggregator", "phi", "form"), ["linear"], UNREADABLE),
        (("aggregator", "phi", "form"), "linear", UNREADABLE),
        (("aggregator", "phi", "a"), -0.05, "The rule is not an increasing function of the log-odds."),
        (("aggregator", "phi", "b"), -0.1, "The rule is not an increasing function of the log-odds."),
        (("aggregator", "phi", "k"), 0, "The rule is not an increasing function of the log-odds."),
        (("aggregator", "phi"), None, UNREADABLE),
        (("upper", "witness"), None, UNREADABLE),
        (("upper", "witness"), {"kind": "trust me"}, UNREADABLE),
        (
            ("upper", "witness"),
            {"kind": "slopes", "below": {"logits": [], "kappas": []}},
            "The nodes are not in order.",
        ),
        (("upper",), None, UNREADABLE),
        (("lower", "mixture"), None, UNREADABLE),
        (("lower", "mixture"), [1], UNREADABLE),
        (("value", "mixture", 0, "reports", 0), ["0", "1/4", "1/2"], UNREADABLE),
    ],
)
def test_entries_that_do_not_belong(path: tuple[Any, ...], value: Any, words: str, check: Check) -> None:
    data = certificate("theorem")
    if path[0] in {"lower", "value"}:
        del data["upper"]
    record: Any = data
    for key in path[:-1]:
        record = record[key]
    record[path[-1]] = value
    assert check(data) == (1, words)


def test_a_linear_rule_increases(check: Check) -> None:
    for alpha in (0, -0.5, "-1/2"):
        data = by_hand(aggregator={"kind": "log-odds", "phi": {"form": "linear", "alpha": alpha, "shift": 0.0}})
        data["value"] = {"bound": 0.0, "mixture": mirrored_pair(Fraction(1, 5))}
        assert check(data) == (1, "The rule is not an increasing function of the log-odds.")


TOO_LONG = "The fractions of a mixture are too many or too long."


def test_long_fractions_are_limited(check: Check) -> None:
    prior = f"{10**400 + 1}/{3 * 10**400}"
    mixture = [structure(prior, *[["0", "1/2"]] * 10)]
    assert check(by_hand(family=family(agents=10), value={"bound": 0.0, "mixture": mixture})) == (1, TOO_LONG)


def test_many_structures_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "BITS", 10_000)
    for count, limited in ((15, False), (30, True)):
        mixture = [structure("1/3", ["0", "1/2"], ["0", "1/2"], weight=f"1/{count}") for _ in range(count)]
        with pytest.raises(SystemExit, match=TOO_LONG) if limited else contextlib.nullcontext():
            referee.regret((), mixture, 2, fmpq(0), fmpq(1))


def test_hopeless_slopes_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the worst case itself as the bound, no number of boxes is enough: the limit ends it."""
    monkeypatch.setattr(referee, "BOXES", 300)
    ctx.prec = 80
    rule = (fmpq(1), fmpq(0), fmpq(1), fmpq(0), fmpq(0))  # one agent: f = g, and F = -B for kappa = 0
    witness = {"below": {"logits": [-1.0, 0.0], "kappas": [0.0, 0.0]}}
    referee.slopes(rule, 1, fmpq(1, 3), fmpq(1, 2), arb("0.001"), witness)
    with pytest.raises(SystemExit, match=NOT_SHOWN):
        referee.slopes(rule, 1, fmpq(1, 3), fmpq(1, 2), arb("1e-30"), witness)


# ------------------------------------------------------------------------------------------------ boxes and tails


@pytest.mark.parametrize(
    "inequality",  # alpha, the number of agents, the bound, kappa, the first and the last prior, whether it holds
    [
        ("1/2", 2, 0.025, 0.02, -1.027, -0.699, True),
        ("1/2", 2, 0.025, 0.02, -1.029, -0.8, False),  # only at the left end of the piece
        ("1/2", 2, 0.025, 0.02, -0.9, -0.697, False),  # only at the right end
        ("1/2", 2, 0.025, 0.02, -1.3, -0.5, False),  # at both ends of the piece, not at its centre
        ("1/100", 2, 0.28, 0.03, -24.0, -8.0, True),
        ("1/100", 2, 0.22, 0.03, -24.0, -8.0, False),  # only for t near -16, and m near -8
        ("1/100", 2, 0.28, -89.4, 8.0, 24.0, True),
        ("1/100", 2, 0.22, -89.4, 8.0, 24.0, False),  # the mirror image
        ("1", 1, 0.01, 0.01 * (1 - 1e-5), -1.0, -0.5, True),
        ("1", 1, 0.01, 0.01 * (1 + 1e-5), -1.0, -0.5, False),  # f = g; only for t below -11
        ("1", 1, 0.01, -0.01 / math.e * (1 - 1e-5), -1.0, -0.5, True),
        ("1", 1, 0.01, -0.01 / math.e * (1 + 1e-5), -1.0, -0.5, False),  # only for t above 11
    ],
)
def test_where_the_inequality_fails(inequality: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """For the same kappa at all priors, compared with the inequality in floats."""
    alpha, agents, bound, kappa, start, end, holds = inequality
    m, t = (axis.ravel() for axis in np.meshgrid(np.linspace(start, end, 401), np.linspace(-30, 30, 2001)))
    g = 1 / (1 + np.exp(-t))
    f = 1 / (1 + np.exp(-float(Fraction(alpha)) * (t + (agents - 1) * m)))
    assert holds == bool(np.all((f - g) ** 2 - bound - kappa * (g * (1 + np.exp(-m)) - 1) < 0))

    monkeypatch.setattr(referee, "BOXES", 6000)
    ctx.prec = 80
    rule = (referee.number(alpha), fmpq(0), fmpq(1), fmpq(0), fmpq(0))
    pieces = [(rule, lambda _: (arb(kappa), arb(0)), start, end, -math.inf)]
    with contextlib.nullcontext() if holds else pytest.raises(SystemExit, match=NOT_SHOWN):
        referee.prove(agents, arb(bound), pieces)


@pytest.fixture
def balls(monkeypatch: pytest.MonkeyPatch) -> list[arb]:
    """The arguments s of all forecasts."""
    arguments: list[arb] = []

    def recorded(rule: Any, s: arb) -> tuple[arb, arb, arb]:
        arguments.append(s)
        return forecast(rule, s)

    forecast = referee.forecast
    monkeypatch.setattr(referee, "forecast", recorded)
    return arguments


def test_tails_look_at_the_prior_with_the_forecast_farthest_from_its_limit(balls: list[arb]) -> None:
    ctx.prec = 80
    rule = (fmpq(1), fmpq(0), fmpq(1), fmpq(0), fmpq(0))
    referee.prove(3, arb(2), [(rule, lambda _: (arb(0), arb(0)), -1.0, 0.5, -math.inf)])
    edges = {float(s) for s in balls if s.rad() == 0}
    assert edges >= {-8 + 2 * 0.5, 8 + 2 * -1.0}
    assert not edges & {-8 + 2 * -1.0, 8 + 2 * 0.5}


def test_the_hessian_is_looked_at_around_the_contact_point(balls: list[arb], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "prove", lambda *_: None)
    ctx.prec = 80
    referee.theorem((fmpq(1, 2), fmpq(1, 10), fmpq(4), fmpq(0), fmpq(0)), 2, fmpq(1))
    for point in np.linspace(-0.25, 0.25, 101):
        assert any(ball.contains(arb(point)) for ball in balls)


# ---------------------------------------------------------------------------------------------------- the formulas


@pytest.mark.parametrize(
    "parameters",
    [
        ("1/2", "1/10", "4", "0", "0"),
        ("3/5", "0", "1", "-2/5", "0"),
        ("0", "1/5", "3", "0", "0"),
        ("1", "0", "7/2", "0", "3/2"),
        ("1", "1/10", "7/2", "1/5", "3/2"),
    ],
)
def test_derivatives_against_differences(parameters: tuple[str, ...]) -> None:
    ctx.prec = 200
    rule = tuple(referee.number(text) for text in parameters)
    a, b, k, shift, c = (float(Fraction(text)) for text in parameters)
    step = arb(2) ** -40
    for s in (-7.0, -1.3, -0.1, 0.4, 2.0, 9.0):
        value = 1 / (1 + math.exp(shift + c * math.tanh(s / k) - s * (a + b * math.tanh(s / k) ** 2)))
        f, df, ddf = referee.forecast(rule, arb(s))
        before, after = (referee.forecast(rule, arb(s) + sign * step)[0] for sign in (-1, 1))
        assert float(f) == pytest.approx(value, rel=1e-12)
        assert float((after - before) / (2 * step)) == pytest.approx(float(df), rel=1e-9)
        assert float((after - 2 * f + before) / (step * step)) == pytest.approx(float(ddf), rel=1e-6, abs=1e-12)
        wide = referee.forecast(rule, arb(s, 0.5))
        for x in (s - 0.5, s - 0.1, s + 0.49):
            assert all(ball.contains(point) for ball, point in zip(wide, referee.forecast(rule, arb(x)), strict=True))


def test_the_line_against_its_formula() -> None:
    ctx.prec = 200
    bound, step = arb(0.03), arb(2) ** -60

    def kappa(m: arb) -> tuple[arb, arb]:
        return 2 + 3 * m, arb(3)

    for m, g in ((-1.5, 0.2), (-0.1, 0.9)):
        value, dm, dg = referee.line(bound, kappa, arb(m), arb(g))
        prior = 1 / (1 + math.exp(-m))
        assert float(value) == pytest.approx(-0.03 - (2 + 3 * m) * (g / prior - 1), rel=1e-12)
        assert float((referee.line(bound, kappa, arb(m) + step, arb(g))[0] - value) / step) == pytest.approx(float(dm))
        assert float((referee.line(bound, kappa, arb(m), arb(g) + step)[0] - value) / step) == pytest.approx(float(dg))
