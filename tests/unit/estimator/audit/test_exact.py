"""The command ``audit --exact``: its forms, its refusals, and every wrong use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Coins, Metric, Registry
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms import catalogue
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.mechanisms.randomized_response import RandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.audit import answers
from estimator.audit.answers import EncodedAnswer, answers_of, inputs_of
from estimator.audit.compare import RequestedLoss, RequestedLosses, Walk, requests_of
from estimator.audit.proof import ExactAudit, proved
from estimator.audit.prove import laws_walked, prove
from estimator.commands.cli import command
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSSED_MODEL,
    GAUSSIAN,
    MODEL,
    NUMBER,
    SET,
    VECTOR,
    Field,
    Toml,
    metric_of,
    registry_text,
)
from tests.support.estimates.every_kind import REGISTRY, REGISTRY_TEXT
from tests.support.laws.series import ln_bounds

PERMANENT: dict[str, Field] = {"permanent_epsilon": 2}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(dark_mode=BOOLEAN, os=CATEGORY | {"values": ["a " * 20, "b", "c"]}))
    return path


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["audit", "--exact", *(str(argument) for argument in arguments)])


def _document(registry: Path) -> dict[str, dict[str, object]]:
    document = json.loads(_run("--registry", registry, "--format", "json").stdout)
    return {f"{proof['metric']}, {proof['step']}": proof for proof in document["proofs"]}


@pytest.mark.long
def test_every_kind_of_metric_is_as_claimed_within_80_columns(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY_TEXT + registry_text(load=GAUSSIAN | {"delta": 0.001}).partition('in tests only."\n')[2])
    result = _run("--registry", path)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    lines = [line for line in result.stdout.splitlines() if line.endswith("as claimed")]
    assert len(lines) == len(REGISTRY.metrics) + 2
    assert sum("permanent answer: " in line for line in lines) == 1
    (gaussian,) = (line for line in lines if "gaussian" in line)
    claimed, proved = gaussian.partition("delta ")[2].partition(",")[0].split(" | ")
    assert claimed == proved != "0"
    assert {line.partition(" used: ")[0].rpartition(", ")[2] for line in lines} == {"100.0%"}
    assert result.stderr == ""


@pytest.mark.slow
def test_crosses_have_as_many_inputs_as_their_cells_have_combinations(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    for features, walked, verdict in ((4, 32, "as claimed"), (80, 8, "sample as claimed")):
        listed = ", ".join(f'{{ name = "f{number}", values = ["a", "b"] }}' for number in range(features))
        path.write_text(registry_text(asked=CROSSED_MODEL | {"features": Toml(f"[{listed}]")}))
        lines = _run("--registry", path).stdout.splitlines()
        assert lines[2].endswith(f": {verdict}")
        assert max(map(len, lines)) <= 80
        proof = _document(path)["asked, one report"]
        assert (proof["inputs"], proof["inputs_walked"]) == (2 * 2**features, walked)


def test_an_epsilon_is_used_by_answers_and_not_by_inputs_that_are_only_parts_of_them() -> None:
    channel = RandomizedResponse.within(RequestedEpsilon.parse(1))
    walk = Walk("one report", channel, lambda _: None)
    no, yes = map(EncodedAnswer.of_input, (0, 1))
    either = EncodedAnswer("either", {0: Fraction(1, 2), 1: Fraction(1, 2)})
    walk.reported(partial(channel.perturb, 0), no)
    walk.reported(lambda coins: channel.perturb(coins.below(2), coins), either)
    walk.reported(partial(channel.perturb, 1), yes, is_answer=False)
    proof = walk.proof("dark_mode", epsilon_nanos(channel), None)
    assert proof.ratio == channel.worst_ratio
    assert proof.between_answers == 1 / (2 * channel.probability(1, 0))
    (step,) = proved(ExactAudit((proof,)), 5.0).proofs
    assert step.used is not None
    assert 0.6 < step.used < 0.7  # of the odds e : 1 only (e + 1) / 2 : 1 are


def test_json_has_ratios_as_exact_texts(registry: Path) -> None:
    proof = _document(registry)["dark_mode, one report"]
    channel = Registry.load(registry).metric("dark_mode").channel
    assert proof == {
        "metric": "dark_mode",
        "step": "one report",
        "mechanism": "randomized-response",
        "inputs": 2,
        "inputs_walked": 2,
        "symbols": 2,
        "laws": 2,
        "paths": 4,
        "coins": [1],
        "claimed_epsilon": "1.000000000",
        "proved_epsilon": "1.00000000000000",
        "used": 1.0,
        "claimed_ratio": str(channel.worst_ratio),
        "proved_ratio": str(channel.worst_ratio),
        "claimed_delta": "0",
        "proved_delta": "0",
        "refused": False,
        "mismatches": [],
    }


def test_the_proved_epsilon_is_the_logarithm_of_the_ratio_rounded_up(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(m=BOOLEAN | {"epsilon": "ln 3"}, n=CATEGORY | {"epsilon": 0.3}))
    for proof in _document(path).values():
        low, high = ln_bounds(Fraction(str(proof["proved_ratio"])))
        assert low <= Fraction(str(proof["proved_epsilon"])) < high + Fraction(1, 10**14)
        assert low <= Fraction(str(proof["claimed_epsilon"])) < high + Fraction(1, 10**9)


def never_lies(self: KAryRandomizedResponse, value: int, coins: Coins) -> int:
    coins.bernoulli(self.keep_numerator)
    coins.below(self.inputs - 1)
    return value


def lies_one_part_in_2_to_the_64_too_rarely(self: RandomizedResponse, value: int, coins: Coins) -> int:
    return value if coins.bernoulli(self.keep_numerator + 1) else 1 - value


def test_an_installed_mechanism_that_never_lies_is_refused(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KAryRandomizedResponse, "perturb", never_lies)
    result = _run("--registry", registry)
    assert result.exit_code == 1
    assert (
        "refused: os, one report: more is revealed than is claimed: epsilon infinite instead of 1.000000000"
        in result.stderr
    )
    assert "a report does not have the declared distribution; of 3 probabilities, the one of " in result.stderr
    assert "dark_mode" not in result.stderr
    assert "delta 0 | 1, infinitely used: refused *" in result.stdout


def test_an_installed_mechanism_that_is_off_by_the_last_digit_is_refused(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RandomizedResponse, "perturb", lies_one_part_in_2_to_the_64_too_rarely)
    result = _run("--registry", registry)
    assert result.exit_code == 1
    assert "refused: dark_mode, one report: the proved epsilon or delta differs from the declared" in result.stderr


def test_an_installed_mechanism_of_more_than_was_asked_for_is_refused(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The channel declares what it does, so only the registry's own definition shows the fault."""
    monkeypatch.setattr(catalogue, "built_once", catalogue.built_once.__wrapped__)
    right = RandomizedResponse.within
    generous = type("Generous", (), {"odds": Fraction(4)})
    monkeypatch.setattr(RandomizedResponse, "within", lambda _: right(generous))  # type: ignore[arg-type] # has odds
    result = _run("--registry", registry, "--metric", "dark_mode")
    assert result.exit_code == 1
    assert result.stderr == "refused: dark_mode, one report: it reveals more than the metric's definition allows\n"


def label_in_the_clear(_device: Metric, answer: object, _coins: Coins) -> int:
    assert isinstance(answer, Mapping)
    return int(answer["label"])


def sign_in_the_clear(_device: Metric, answer: object, _coins: Coins) -> int:
    assert isinstance(answer, list)
    return int(answer[0] > 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("definition", "device"),
    [(CROSSED_MODEL, label_in_the_clear), (MODEL, label_in_the_clear), (VECTOR, sign_in_the_clear)],
    ids=["crosses", "model", "vector"],
)
def test_a_device_that_reports_what_it_was_told_past_its_channel_is_refused(
    registry: Path,
    monkeypatch: pytest.MonkeyPatch,
    definition: dict[str, Field],
    device: Callable[[Metric, object, Coins], int],
) -> None:
    registry.write_text(registry_text(m=definition))
    assert _run("--registry", registry).exit_code == 0
    monkeypatch.setattr(Metric, "perturb", device)
    assert _run("--registry", registry).exit_code == 1


def test_a_device_that_gives_one_pair_of_features_away_is_refused(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No diagonal has this pair, so only all observations show it; here these are few."""
    features = '[{ name = "a", values = ["0", "1", "2", "3"] }, { name = "b", values = ["0", "1", "2", "3"] }]'
    registry.write_text(registry_text(m=CROSSED_MODEL | {"features": Toml(features)}))
    right = Metric.perturb

    def perturb(self: Metric, answer: object, coins: Coins) -> int:
        assert isinstance(answer, Mapping)
        return right(self, answer, coins) * ((answer["a"], answer["b"]) != ("1", "3"))

    monkeypatch.setattr(Metric, "perturb", perturb)
    assert _run("--registry", registry).exit_code == 1
    monkeypatch.setattr("estimator.audit.prove.MOST_PATHS", 1)
    assert "sample as claimed" in _run("--registry", registry).stdout
    assert _run("--registry", registry, "--all-inputs").exit_code == 1


def test_a_set_that_no_sample_holds_is_refused_among_all_inputs(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_SETS", 8)
    registry.write_text(registry_text(m=SET | {"values": [f"v{place}" for place in range(5)], "max_items": 3}))
    right = Metric.perturb

    def perturb(self: Metric, answer: object, coins: Coins) -> int:
        assert isinstance(answer, Sequence)
        return right(self, answer, coins) * (len(answer) != 2 or "v2" not in answer)

    monkeypatch.setattr(Metric, "perturb", perturb)
    assert "sample as claimed" in _run("--registry", registry).stdout
    assert _run("--registry", registry, "--all-inputs").exit_code == 1


@pytest.mark.long
def test_the_table_says_of_how_many_inputs_every_path_was_walked(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(dark_mode=BOOLEAN, os=CATEGORY))
    assert (
        "\nFor all 5 inputs, the installed SDK was run with every path\n(sequence of coins),"
        in _run("--registry", path).stdout
    )
    path.write_text(registry_text(dark_mode=BOOLEAN, mean=NUMBER | {"epsilon": 1, "high": 5000}))
    proofs = _document(path).values()
    walked, every = (sum(int(str(proof[part])) for proof in proofs) for part in ("inputs_walked", "inputs"))
    assert walked < every
    assert f"\nFor {walked:,} of {every:,} inputs, the installed SDK" in _run("--registry", path).stdout


def in_the_clear(self: Metric, answer: object, coins: Coins) -> int:
    return int(self.encode(answer, coins))


def shares_coins(self: Permanent, encode: Callable[[Coins], int], coins_of: Callable[..., Coins], *_: str) -> object:
    value = encode(coins_of("offset"))
    return value, self.permanent.perturb(value, coins_of("permanent"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "name", "wrong"),
    [
        (Metric, "perturb", in_the_clear),
        (Metric, "encode", lambda self, _answer, _coins: self.channel.inputs - 1),
        (Number, "encode", lambda _, __, inputs, coins: inputs * coins.bernoulli(1)),
    ],
)
def test_an_sdk_that_is_wrong_anywhere_on_the_way_of_an_answer_is_refused(
    target: type, name: str, wrong: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(m=NUMBER, n=SET, o=COUNT))
    monkeypatch.setattr(target, name, wrong)
    assert _run("--registry", path).exit_code != 0


def test_permanent_answers_that_share_their_coins_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(m=CATEGORY | PERMANENT))
    assert _run("--registry", path).exit_code == 0
    monkeypatch.setattr(Permanent, "settle", shares_coins)
    result = _run("--registry", path)
    assert result.exit_code == 1
    assert "refused: m, permanent answer: a pair of answers does not have the declared distribution" in result.stderr


def test_an_sdk_that_cannot_be_walked_is_no_right_one(registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomizedResponse, "perturb", lambda _, value, coins: value + coins.below(2**64) % 3)
    result = _run("--registry", registry)
    assert result.exit_code == 2
    assert "dark_mode: a draw has 6148914691236517206 distinct outcomes" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metric", "dark_mod"], "dark_mod"),
        (["--reports", 480], "--exact enumerates all outcomes; omit --reports"),
        (["--format", "csv"], "csv"),
        (["--all-input"], "--all-inputs"),
    ],
)
def test_wrong_use_is_said(registry: Path, arguments: list[object], said: str) -> None:
    result = _run("--registry", registry, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_words_of_a_registry_are_what_is_asked_for() -> None:
    text = registry_text(a=BOOLEAN | {"epsilon": "ln 3"}, b=GAUSSIAN, c=CATEGORY | {"permanent_epsilon": "ln 5"})
    requests = requests_of(text)
    assert requests["a"] == RequestedLosses(RequestedLoss(Fraction(3)))
    assert requests["b"].report is not None
    assert requests["b"].report.delta == Fraction(1, 10**6)
    assert requests["c"].permanent is not None
    assert requests["c"].permanent.odds == 5


@pytest.mark.parametrize(
    ("metric", "walked"),
    [
        (metric_of(CATEGORY), ["a", "b", "c"]),
        (metric_of(SET), [(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]),
        (metric_of(COUNT), list(range(10))),
        (metric_of(NUMBER, mechanism="one-bit"), [0, 9, 3, Fraction(9, 2)]),
        (
            metric_of(COUNT | {"max": 10**6, "statistic": "mean", "mechanism": "one-bit", "epsilon": 0.5}),
            [0, 10**6, 333333, 500000],
        ),
    ],
)
def test_few_answers_are_all_walked_and_of_many_the_ends_and_some_between_them(
    metric: Metric, walked: list[object]
) -> None:
    answers = answers_of(metric, inputs_of(metric.channel, all_inputs=False))
    assert [answer.value for answer in answers] == walked
    assert all(sum(answer.inputs.values()) == 1 for answer in answers)


def test_of_many_sets_those_of_each_size_are_walked() -> None:
    many = metric_of(SET | {"values": [f"v{place}" for place in range(40)], "max_items": 4})
    sizes = [len(answer.value) for answer in answers_of(many, ()) if isinstance(answer.value, tuple)]
    assert sizes == [0, 1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.long
def test_a_large_alphabet_is_walked_by_a_sample_and_a_step_is_said_for_each_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers, "MOST_PATHS", 2**13)
    many = Registry.parse(registry_text(m=CATEGORY | {"values": [f"v{place}" for place in range(1024)]}))
    steps: list[int] = []
    (proof,) = prove(many, {}, after_law=steps.append).proofs
    assert not proof.is_refused
    assert proof.walked.inputs == len(steps) == laws_walked(many) < proof.inputs


@pytest.mark.long
@pytest.mark.parametrize("text", [REGISTRY_TEXT, registry_text(m=CATEGORY | PERMANENT, n=NUMBER | PERMANENT)])
def test_as_many_laws_are_walked_as_were_foretold(text: str) -> None:
    registry, steps = Registry.parse(text), list[int]()
    prove(registry, requests_of(text), after_law=steps.append)
    assert sum(steps) == laws_walked(registry)


def test_an_input_that_no_sample_holds_is_refused_among_all_inputs(
    registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that tells the truth for one of many values: a sample misses it, and all inputs show
    it.
    """
    monkeypatch.setattr(answers, "MOST_PATHS", 1)
    values = [f"v{place}" for place in range(20)]
    registry.write_text(registry_text(m=CATEGORY | {"values": values, "mechanism": "k-ary-randomized-response"}))
    right = KAryRandomizedResponse.perturb
    monkeypatch.setattr(
        KAryRandomizedResponse,
        "perturb",
        lambda self, value, coins: right(self, value, coins) * (value != 3) + value * (value == 3),
    )
    sampled = _run("--registry", registry)
    assert "5 of 20" in sampled.stdout
    assert "sample as claimed" in sampled.stdout
    whole = _run("--registry", registry, "--all-inputs")
    assert whole.exit_code == 1
    assert "20 of 20" in whole.stdout
    assert CliRunner().invoke(command, ["audit", "--registry", str(registry), "--all-inputs"]).exit_code == 2
