"""What a certificate says is what was proved: the paradigm, the family, the rule; and no text of the file's maker."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

import robustpool as rp
from forging import sign, small
from programs import run_robustpool
from refusals import input_error, unsupported_error
from robustpool.certificates.finite import finite_certificate
from robustpool.cli.app import app
from robustpool.families.family_file import EXAMPLES
from robustpool.verification.claims import NOUNS, claims, former
from robustpool.verification.reading import LABEL
from robustpool.verification.verify import content_hash
from tampering import as_read, changed, refusal

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN = EXAMPLES / "weather-unknown.json"
PARADIGMS = ["additive", "absolute", "ratio"]


def run(*arguments: Any, status: int = 0) -> str:
    """What a command prints."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return done.output


# ---------------------------------------------------------------------------------------------------------- the paradigm


def worst(aggregator: Any, paradigm: str) -> float:
    """The worst regret, loss or ratio on the weather, from the definitions."""
    payoffs = []
    for entry in json.loads(UNKNOWN.read_text())["structures"]:
        joint = np.array([[[float(Fraction(x)) for x in row] for row in state] for state in entry["joint"]])
        joint /= joint.sum()
        first, second = joint.sum(axis=2), joint.sum(axis=1)
        x = np.meshgrid(first[1] / first.sum(axis=0), second[1] / second.sum(axis=0), indexing="ij")
        comes = joint.sum(axis=0) > 0
        no, yes = joint[:, comes]
        f = np.asarray(aggregator(np.stack([part[comes] for part in x], axis=1)))
        loss = (no * f**2 + yes * (1 - f) ** 2).sum()
        omniscient = (no * yes / (no + yes)).sum()
        payoffs.append({"additive": loss - omniscient, "absolute": loss, "ratio": loss / omniscient}[paradigm])
    return float(max(payoffs))


def check_words(verdict: rp.Verification, paradigm: str, number: float) -> None:
    """The bounds enclose the number, and the claims name it as it is."""
    assert verdict.verified
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.lower <= verdict.upper
    assert verdict.lower == pytest.approx(number, rel=1e-9) == verdict.upper
    for claim in verdict.claims:
        assert [noun for noun in NOUNS.values() if f" {noun} " in claim] == [NOUNS[paradigm]]
    assert f"the {NOUNS[paradigm]} of the table" in verdict.claims[0]
    assert f"lies between {verdict.lower!r} and {verdict.upper!r}." in verdict.claims[0]


@pytest.mark.parametrize("paradigm", PARADIGMS)
def test_a_rule_on_a_finite_family(paradigm: str) -> None:
    number = worst(rp.get_rule("mean"), paradigm)
    certificate = rp.certify("mean", UNKNOWN, paradigm=paradigm)
    check_words(rp.verify(certificate), paradigm, number)
    assert len(certificate.claims) == 1
    if paradigm != "additive":
        assert rp.certify("mean", UNKNOWN).upper != pytest.approx(number, rel=1e-3)
        forged = as_read(certificate)
        forged["paradigm"] = "additive"
        assert re.search(r"(upper|lower)\.bound is", refusal(forged))


@pytest.mark.parametrize("paradigm", PARADIGMS)
def test_a_design_on_a_finite_family_at_the_command_line(paradigm: str, tmp_path: Path) -> None:
    """The worst loss is called a loss: 0.17 was once said to be a regret of 0.0134."""
    design, path = tmp_path / "design.json", tmp_path / "certificate.json"
    run("design", "--family", UNKNOWN, "--paradigm", paradigm, "--tolerance", 1e-8, "--out", design)
    number = worst(rp.load_design(design), paradigm)
    shown = run("certify", design, "--family", UNKNOWN, "--out", path)
    assert re.search(rf"^{re.escape(NOUNS[paradigm])} +between ", shown, re.MULTILINE)
    verdict = rp.verify(path)
    check_words(verdict, paradigm, number)
    assert verdict.value == pytest.approx(number, abs=2e-8)
    assert f"randomised or not, has a {NOUNS[paradigm]} below {verdict.value!r}." in verdict.claims[1]
    lines = run("verify", path).splitlines()
    proved = [line.removeprefix("proved               ") for line in lines if line.startswith("proved")]
    assert proved == list(verdict.claims)
    others = [other for other in PARADIGMS if other != paradigm]
    assert all(NOUNS[other] not in " ".join(lines) for other in others)
    for other in others:  # the same table in another game: another number, and no value of a mixture made for this one
        certificate = rp.certify(design, UNKNOWN, paradigm=other)
        check_words(rp.verify(certificate), other, worst(rp.load_design(design), other))
        assert certificate.value is None


def test_a_rule_on_a_finite_family_at_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    shown = run("certify", "mean", "--family", UNKNOWN, "--paradigm", "absolute", "--out", path)
    assert "worst-case expected loss" in shown
    assert "regret" not in run("verify", path)
    check_words(rp.verify(path), "absolute", worst(rp.get_rule("mean"), "absolute"))


def test_the_log_loss_is_not_certified(tmp_path: Path) -> None:
    design = tmp_path / "design.json"
    rp.save_design(rp.solve(rp.load_family(UNKNOWN), loss="log", tolerance=1e-6), design)
    with unsupported_error("certificates are for the square loss; the design was made for 'log'"):
        rp.certify(design, UNKNOWN)


def test_independent_agents_are_certified_for_the_regret_only() -> None:
    for paradigm in ("absolute", "ratio"):
        with unsupported_error(f"for the paradigm 'additive' only; it is '{paradigm}'"):
            rp.certify("mean", paradigm=paradigm)
    assert (rp.certify("minimax", paradigm="additive").upper or 1.0) < 0.0226


def test_an_infinite_ratio_is_no_bound() -> None:
    """Where the omniscient aggregator knows the state, any other has infinitely many times its loss."""
    knows = rp.InformationStructure([[0.5, 0.0], [0.0, 0.5]])
    with unsupported_error("ratio of losses on structure 0 is infinite"):
        rp.certify(lambda x: 0.5 + 0 * x[:, 0], [knows], paradigm="ratio")
    parts = finite_certificate(lambda x: x[:, 0], [knows], [1.0], paradigm="ratio")
    assert (parts["upper"]["bound"], parts["lower"]["bound"]) == (1.0, 1.0)
    assert "value" not in parts  # such a structure bounds nothing


# ---------------------------------------------------------------------------------------------------- reports that are near


def shifted_pair(shift: Fraction) -> dict[str, Any]:
    """The mirrored pair of two agents as a family file; in the second structure the report 1/2 is 1/2 + shift."""
    structures = []
    half = Fraction(1, 2)
    for mu, low, high in ((Fraction(19, 100), 0 * half, half), (Fraction(81, 100), half + shift, 2 * half)):
        q = (mu - low) / (high - low)
        chances = [[(1 - q) * (1 - low) / (1 - mu), q * (1 - high) / (1 - mu)], [(1 - q) * low / mu, q * high / mu]]
        joint = [[[str(p * a * b) for b in row] for a in row] for p, row in zip((1 - mu, mu), chances, strict=True)]
        structures.append({"name": f"prior {mu}", "joint": joint})
    names = {"states": ["no", "yes"], "agents": ["ann", "bob"], "report": "posterior"}
    return {"format": "robustpool-family/1", **names, "structures": structures}


def test_the_value_is_that_of_functions_of_the_true_reports(tmp_path: Path) -> None:
    """Reports 5e-10 apart are one to the table of a design, and two to a function of the reports: the value is 0."""
    values = {}
    for name, shift in (("same", Fraction(0)), ("near", Fraction(5, 10**10))):
        family, design, path = (tmp_path / f"{name}-{what}.json" for what in ("family", "design", "certificate"))
        family.write_text(json.dumps(shifted_pair(shift)))
        rp.save_design(rp.solve(rp.load_family(family), tolerance=1e-9), design)
        rp.certify(design, family).save(path)
        verdict = rp.verify(path)
        assert verdict.verified
        values[name] = verdict.value
    assert values["same"] == pytest.approx(0.0225, abs=1e-4)
    assert values["near"] == 0.0
    data = json.loads(path.read_text())
    assert "reports: posteriors; compared exactly" in data["claims"][1]
    for bound in (5e-324, 1e-9, 0.022):
        assert "under its mixture it is at most 0.0" in refusal(changed(data, ("value", "bound"), bound))


# --------------------------------------------------------------------------------------------------------------- the label

LIES = "mean, the best rule of all. Its worst-case regret is at most 0.001."
LABELS = [LIES, "", "Ω", "mean", "x" * LABEL]
NOT_LABELS: list[Any] = [
    *("two\nlines", "a\ttab", "\x1b[2J\x1b[31mred", "\ud800", "\u202eback to front", "\x00", "x" * (LABEL + 1)),
    *({"name": "mean"}, ["mean"], None, 1, True),
]


@pytest.fixture(scope="module")
def minimax() -> dict[str, Any]:
    return as_read(rp.certify("minimax"))


@pytest.mark.parametrize("label", LABELS, ids=ascii)
def test_a_label_is_shown_apart_from_the_claims(label: str, minimax: dict[str, Any], tmp_path: Path) -> None:
    data = changed(minimax, ("label",), label)
    verdict = rp.verify(data)
    assert verdict.verified
    assert verdict.label == label
    assert list(verdict.claims) == minimax["claims"]
    assert not any(label in claim for claim in verdict.claims) or not label
    assert "logit f = s (0.5 + " in verdict.claims[0]  # the rule, by its formula
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data))
    lines = run("verify", path).splitlines()
    assert lines[-1] == f"label, not checked   {json.dumps(label)}"
    assert lines[-1].isascii()
    assert all(line.startswith(("verified: ", "proved  ")) for line in lines[:-1])
    assert json.loads(run("verify", path, "--json"))["label"] == label


@pytest.mark.parametrize("label", NOT_LABELS, ids=ascii)
def test_a_label_that_could_hurt_is_refused(label: Any, minimax: dict[str, Any], tmp_path: Path) -> None:
    data = changed(minimax, ("label",), label)
    sentence = refusal(data)
    assert f"label must be a text of at most {LABEL} printable characters" in sentence
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data))
    for arguments in (("verify", path), ("verify", path, "--json")):
        shown = run(*arguments, status=1)
        assert shown.rstrip("\n").isprintable()
        assert "NOT verified" in shown or '"verified": false' in shown


@pytest.mark.parametrize("name", ["a lie\nproved  it is 0", "\ud800", "\x1b[2J", "x" * (LABEL + 1)], ids=ascii)
def test_other_names_in_a_file_cannot_hurt_either(name: str, minimax: dict[str, Any]) -> None:
    weather = as_read(rp.certify("mean", UNKNOWN))
    for place in ("family states 0", "family agents 1", "family structures 0 name", "versions python"):
        at = [int(key) if key.isdigit() else key for key in place.split()]
        assert "must be a text of at most" in refusal(changed(weather, tuple(at), name))
    for place in ("aggregator kind", "aggregator phi form", "loss", "paradigm", "family kind"):
        sentence = refusal(changed(minimax, tuple(place.split()), name))
        assert sentence.isprintable()
        assert len(sentence) < 300
    verdict = rp.verify({**minimax, name: 0})
    assert not verdict.verified
    assert verdict.sentence.isprintable()


def test_names_of_a_finite_family_are_not_in_its_claims() -> None:
    weather = as_read(rp.certify("mean", UNKNOWN))
    for at in (("family", "states", 0), ("family", "agents", 1), ("family", "structures", 0, "name")):
        verdict = rp.verify(changed(weather, at, LIES))
        assert verdict.verified
        assert LIES not in " ".join([*verdict.claims, verdict.sentence])


def test_labels_of_the_maker_are_made_harmless() -> None:
    class Loud:
        name = "loud\n\x1b[31m" + "x" * 200

        def __call__(self, x: Any) -> Any:
            return np.asarray(x).mean(axis=1)

    certificate = rp.certify(Loud(), UNKNOWN)
    assert certificate.data["label"] == ("loud[31m" + "x" * 200)[:LABEL]
    assert rp.verify(certificate).verified


def test_a_file_of_bytes_that_are_no_text(tmp_path: Path) -> None:
    lone = b'{"format": "\xed\xa0\x80"}'
    for content in (b"\xff\xfe", lone, b"[" * 100_000, b'{"format": "robustpool-certificate/2"}'):
        (tmp_path / "file.json").write_bytes(content)
        done = run_robustpool("verify", "file.json", cwd=tmp_path)
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr + done.stdout
        assert len((done.stderr + done.stdout).splitlines()) == 1


def test_a_certificate_of_the_earlier_format_gets_a_sentence(minimax: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(sign({**minimax, "format": "robustpool-certificate/1"})))
    shown = run("verify", path, status=1)
    assert shown == (
        "NOT verified: this certificate was made by an earlier version, whose claims could say too much; certify it again.\n"
    )


# -------------------------------------------------------------------------------------------------------------- the claims


def test_every_claim_is_shown(minimax: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(minimax))
    value, upper, lower = (minimax[name]["bound"] for name in ("value", "upper", "lower"))
    over = (
        "Square loss, two states, all structures of 2 agents who report their posteriors given all that they saw, with private "
        "signals independent given the state and the public evidence, if any, that all of them saw, and any prior after it:"
    )
    end = "Decimals name doubles."
    about = "logit f = s (0.5 + {} tanh(s/4.0)^2), where s is the sum of the log-odds of the reports"
    about = about.format(float(Fraction(minimax["aggregator"]["phi"]["b"])))
    assert run("verify", path).splitlines() == [
        "verified: every claim was proved again from the file.",
        f"proved               {over} the worst-case regret of the rule {about}, lies between {lower!r} and {upper!r}. {end}",
        f"proved               {over} no aggregator of the reports, randomised or not, has a worst-case regret below {value!r}. {end}",
        'label, not checked   "minimax"',
    ]
    data = json.loads(run("verify", path, "--json"))
    assert data["claims"] == minimax["claims"]
    assert (data["verified"], data["value"], data["over_budget"]) == (True, value, False)


def independent(agents: int, prior_range: list[Any], **parts: Any) -> dict[str, Any]:
    family = {"kind": "conditionally-independent", "agents": agents, "prior_range": prior_range}
    return {"family": family, "loss": "square", "paradigm": "additive", **parts}


def test_the_family_in_words() -> None:
    upper = {"upper": {"bound": 0.5}}
    (claim,) = claims(independent(1, [0, 1.0], **upper), "f = x")
    assert claim == (
        "Square loss, two states, all structures of one agent who reports her posterior, and any prior: "
        "the worst-case regret of the rule f = x, is at most 0.5. Decimals name doubles."
    )
    (claim,) = claims(independent(3, ["1/10", 0.5], lower={"bound": 0.25}), "f")
    agents = (
        "3 agents who report their posteriors given all that they saw, with private signals independent given the state and "
        "the public evidence, if any, that all of them saw"
    )
    assert f"{agents}, and a prior after it from 1/10 to 0.5: " in claim
    assert claim.endswith("is at least 0.25. Decimals name doubles.")
    for prior_range in ([5e-324, 1], [0, math.nextafter(1, 0)], ["1/1000", 1]):
        assert "any prior" not in claims(independent(2, prior_range, **upper), "f")[0]


def stating(data: dict[str, Any], *sentences: str) -> rp.Verification:
    """The verdict on a certificate that states other sentences, with a hash that fits."""
    data = {**data, "claims": list(sentences)}
    return rp.verify({**data, "hash": content_hash(data)})


def test_a_file_with_the_former_narrower_sentences_is_still_verified(minimax: dict[str, Any]) -> None:
    """They spoke of agents without public evidence: what they say is implied, and what is proved is said in full."""
    some = as_read(small("log-odds:alpha=0.6", (0.25, 0.5), 3))
    sentences = "Square loss, two states, all structures of {} agents who report their posteriors, with signals independent given the state, and {}:"
    for data, agents, priors in ((minimax, 2, "any prior"), (some, 3, "a prior from 0.25 to 0.5")):
        over, ends = sentences.format(agents, priors), [claim.partition(":")[2] for claim in data["claims"]]
        verdict = stating(data, *(over + end for end in ends))
        assert verdict.verified, verdict.sentence
        assert list(verdict.claims) == data["claims"]
        assert data["claims"] != [over + end for end in ends]


def test_no_other_wording_is_accepted(minimax: dict[str, Any]) -> None:
    rule, value = minimax["claims"]
    wider = [
        (rule.replace(" given all that they saw", ""), value),
        (
            rule.replace("the public evidence, if any, that all of them saw", "any evidence that some of them saw"),
            value,
        ),
        (rule.replace(" given the state and", " given"), value),
        (rule.replace("any prior after it", "any prior"), value),
        (former(rule).replace(", with signals independent given the state", ""), former(value)),
        (former(rule), value),
        (rule, former(value)),
    ]
    for sentences in wider:
        assert (rule, value) != sentences
        verdict = stating(minimax, *sentences)
        assert not verdict.verified
        assert verdict.sentence == f"claims must be what was proved: {rule} {value}"


def test_a_claim_on_a_finite_family_in_words() -> None:
    weather = as_read(rp.certify("mean", UNKNOWN))
    shown = weather["claims"][0]
    assert "the 2 structures in this file (2 states, 2 agents, reports: posteriors; compared exactly)" in shown
    for report, words in (
        ("higher-order", "posteriors, and those expected of the others"),
        ("decision", "the likeliest state, the first of equals"),
    ):
        weather["family"]["report"] = report
        assert f"reports: {words}; compared exactly" in claims(weather, None)[0]
    weather["family"]["states"] = ["a", "b", "c"]
    assert claims(weather, None)[0].startswith("Square loss, summed over the states, the 2 structures")
    weather["family"]["states"] = ["a", "b"]
    weather["family"]["report"] = "listed"
    weather["family"]["structures"] = weather["family"]["structures"][:1]
    weather["family"]["agents"] = ["ann"]
    assert (
        "the 1 structure in this file (2 states, 1 agent, reports: listed in this file, where the omniscient one sees the point)"
        in claims(weather, None)[0]
    )


def test_only_what_is_claimed_is_said() -> None:
    weather = as_read(rp.certify("mean", UNKNOWN))
    for missing, words in (("lower", "is at most"), ("upper", "is at least")):
        verdict = rp.verify(sign({name: part for name, part in weather.items() if name != missing}))
        assert verdict.verified
        assert getattr(verdict, missing) is None
        assert words in verdict.claims[0]


def test_another_rule_has_another_claim() -> None:
    """One unit in the last place of a parameter or of a table, and the range of the priors, change what is said."""
    third = math.nextafter(0.6, 1)
    pairs = [
        ("log-odds:alpha=0.6", f"log-odds:alpha={third!r}"),
        ("karmarkar:a=2", "karmarkar:a=2.5"),
        ("average-prior", "arieli-tuned"),
        (rp.GridAggregator(np.full((3, 3), 0.5)), rp.GridAggregator(np.full((3, 3), math.nextafter(0.5, 1)))),
        ("mean", rp.GridAggregator(np.array([[0.0, 0.5], [0.5, math.nextafter(1, 0)]]))),
    ]
    for one, other in pairs:
        first, second = (small(rule, (0.4, 0.41)).claims[0].partition("the rule ")[2] for rule in (one, other))
        assert first.partition(", lies")[0] != second.partition(", lies")[0]


def test_the_bounds_of_a_proof_are_never_crossed() -> None:
    """Also on the way: the regret of the worst structure found is rounded, the bound is not."""
    for rule in ("minimax", "geometric-odds"):
        for state in rp.certification(rule):
            assert state.lower <= state.upper


# --------------------------------------------------------------------------------------------- reports of a user's own kind

STRUCTURES = [
    rp.InformationStructure([[0.45, 0.05], [0.05, 0.45]], name="sharp"),
    rp.InformationStructure([[0.3, 0.2], [0.2, 0.3]], name="dull"),
]


def signal_and_agent(agent: int, signal: int, structure: rp.InformationStructure) -> list[float]:
    """Two numbers: what she saw, and a third of who she is. Nothing of the structure."""
    del structure
    return [float(signal), (agent + 1) / 3]


@pytest.fixture
def own_family() -> rp.FiniteFamily:
    return rp.FiniteFamily.from_structures(STRUCTURES, report=signal_and_agent)


@pytest.mark.parametrize("paradigm", PARADIGMS)
def test_reports_of_a_users_own_kind_are_listed(own_family: rp.FiniteFamily, paradigm: str, tmp_path: Path) -> None:
    solution = rp.solve(own_family, tolerance=1e-9, paradigm=paradigm)
    path = tmp_path / "design.json"
    rp.save_design(solution, path)
    for aggregator in (path, solution.aggregator):
        certificate = rp.certify(aggregator, own_family, paradigm=None if aggregator is path else paradigm)
        verdict = rp.verify(as_read(certificate))
        assert verdict.verified
        assert certificate.data["family"]["report"] == "listed"
        assert "reports: listed in this file" in verdict.claims[0]
        regrets = [rp.regret(aggregator, each, report=signal_and_agent, paradigm=paradigm) for each in STRUCTURES]
        assert max(regrets) == pytest.approx(certificate.upper, rel=1e-12)
        assert certificate.lower == pytest.approx(certificate.upper, rel=1e-15)
        if aggregator is path:
            assert certificate.value == pytest.approx(certificate.upper, abs=1e-8)


def test_the_same_numbers_as_with_our_own_format() -> None:
    """Posteriors by a user's function: what is proved is the same but for the words."""

    def posterior(agent: int, signal: int, structure: rp.InformationStructure) -> float:
        assert agent == 0
        return float(structure.joint[1, signal] / structure.joint[:, signal].sum())

    own = rp.certify("mean", rp.FiniteFamily.from_structures(STRUCTURES, report=posterior))
    ours = rp.certify("mean", STRUCTURES)
    assert own.upper == pytest.approx(ours.upper, abs=1e-15)
    assert "posteriors" in ours.claims[0]
    assert "listed" in own.claims[0]
    assert finite_certificate("mean", STRUCTURES, report=posterior)["family"]["report"] == "listed"


def test_a_family_that_keeps_only_its_reports_is_listed() -> None:
    certificate = rp.certify("mean", rp.load_family(UNKNOWN))
    assert certificate.data["family"]["report"] == "listed"
    assert certificate.upper == pytest.approx(rp.certify("mean", UNKNOWN).upper, rel=1e-12)
    assert rp.verify(certificate).verified


def test_a_design_for_own_reports_says_which_family_it_needs(own_family: rp.FiniteFamily, tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    rp.save_design(rp.solve(own_family, tolerance=1e-6), path)
    with input_error(r"made for the reports 'custom:signal_and_agent', .* gives 'posterior'"):
        rp.certify(path, STRUCTURES)
    other = rp.FiniteFamily.from_structures(STRUCTURES[:1], report=signal_and_agent)
    with input_error("made for another family: the fingerprints differ"):
        rp.certify(path, other)
