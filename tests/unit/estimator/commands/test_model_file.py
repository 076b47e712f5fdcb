"""A model's file: written whole, read by the SDK and scikit-learn, refused where there is none."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import estimator
from client_sdk import ShippedModel
from client_sdk.protocol import Registry
from client_sdk.protocol.kinds.kind import NO_COINS
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from estimator import MissingLibraryError, ReportError
from estimator.analyses.vectors import sampled_tally
from estimator.commands.cli import command
from estimator.rehearsal.model_rehearsal import drawn_tally
from tests.support.devices.definitions import BOOLEAN, CROSSED_MODEL, MODEL, Field, Toml, registry_text

ROWS = 200
DEFINITIONS: dict[str, dict[str, Field]] = {
    "products": MODEL | {"epsilon": 6},
    "crosses": CROSSED_MODEL,
    "number": MODEL | {"epsilon": 6, "label": Toml("{ low = 0, high = 100 }")},
}
TEXT = registry_text(**DEFINITIONS, dark=BOOLEAN)
REGISTRY = Registry.parse(TEXT)


def people(name: str) -> list[dict[str, object]]:
    """Return true answers: who is older and in poor health says yes, or a higher number."""
    generator = np.random.default_rng(2)
    ages, poor = generator.uniform(18, 90, ROWS), generator.random(ROWS) < 0.5
    drive = (ages - 54) / 20 + poor - 0.5 + 0.3 * generator.normal(size=ROWS)
    labels = (50 + 20 * drive).tolist() if name == "number" else (drive > 0).tolist()
    return [
        {"age": age, "sex": "fm"[row % 2], "health": "poor" if bad else "good", "label": label}
        for row, (age, bad, label) in enumerate(zip(ages.tolist(), poor, labels, strict=True))
    ]


@cache
def line(name: str, window: str, each: int) -> bytes:
    """Return a tally to which every row has reported so often."""
    metric, counts = REGISTRY.metric(name), np.full(ROWS, each)
    encoded, channel = (
        np.array([metric.encode(answer, NO_COINS) for answer in people(name)]),
        metric.channel.in_window(window),
    )
    generator = np.random.default_rng(each)
    if isinstance(channel, RotatedAxes):
        tally = sampled_tally(channel, encoded, counts, generator)
    else:
        tally = np.array(drawn_tally(metric, encoded, counts, generator).counts)
    fields = {"metric": name, "edition": metric.edition, "window": window, "closed": True}
    symbols = np.flatnonzero(tally)
    counted = {"symbols": symbols.tolist(), "counts": tally[symbols].tolist()}
    return json.dumps(fields | {"reports": each * ROWS} | counted).encode()


def run(folder: Path, *lines: bytes, model: str) -> Result:
    written = ["--metric", model, "--format", "model", "--output", str(folder / "model.json")]
    return CliRunner().invoke(command, ["report", *places(folder, *lines), *written])


def places(folder: Path, *lines: bytes) -> list[str]:
    (folder / "metrics.toml").write_text(TEXT)
    (folder / "tallies").write_bytes(b"\n".join(lines) + b"\n")
    return ["--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies")]


@pytest.mark.long
@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_model_of_the_last_window_scores_in_the_sdk_as_in_scikit_learn(tmp_path: Path, name: str) -> None:
    pytest.importorskip("sklearn")
    result = run(tmp_path, line(name, "2026-01-01", 1), line(name, "2026-01-02", 80), model=name)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    document = json.loads((tmp_path / "model.json").read_text())
    assert (document["window"], document["reports"]) == ("2026-01-02", 80 * ROWS)
    assert document["edition"] == REGISTRY.metric(name).edition
    shipped, fitted = ShippedModel.read(tmp_path / "model.json"), estimator.load_model(tmp_path / "model.json")
    answers = people(name)
    table = [[answer[feature] for feature in fitted.feature_names_in_] for answer in answers]
    scores = [shipped.score(answer) for answer in answers]
    labels = [answer["label"] for answer in answers]
    if name == "number":
        assert fitted.predict(table) == pytest.approx(scores, abs=1e-3)
    else:
        assert fitted.decision_function(table) == pytest.approx(scores, abs=1e-4)
        assert fitted.predict_proba(table)[:, 1] == pytest.approx(
            [shipped.probability(each) for each in answers], abs=1e-4
        )
    assert fitted.score(table, labels) > (0.7 if name == "number" else 0.8)


@pytest.mark.slow
def test_scikit_learn_takes_it_as_fitted_and_frames_by_the_names_of_columns(tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415 220 ms, of every run's collection

    validation, base = pytest.importorskip("sklearn.utils.validation"), pytest.importorskip("sklearn.base")
    run(tmp_path, line("crosses", "2026-01-01", 60), model="crosses")
    fitted = estimator.load_model(tmp_path / "model.json")
    validation.check_is_fitted(fitted)
    assert base.is_classifier(fitted)
    frame = pd.DataFrame(people("crosses"))[["label", "health", "sex", "age"]]
    again = base.clone(fitted).fit(frame).predict(frame)
    assert again.tolist() == fitted.predict(frame[["age", "sex", "health"]].to_numpy()).tolist()
    with pytest.raises(ValueError, match="must have 3 columns: age, sex, health"):
        fitted.predict([[1, 2]])


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_value_that_no_feature_has_is_refused_and_not_told(tmp_path: Path, name: str) -> None:
    import pandas as pd  # noqa: PLC0415 220 ms, of every run's collection

    pytest.importorskip("sklearn")
    run(tmp_path, line(name, "2026-01-01", 60), model=name)
    fitted = estimator.load_model(tmp_path / "model.json")
    frame = pd.DataFrame(people(name))
    for feature, value, said in (("health", "31415", "must be one of: "), ("age", float("nan"), "must be a number")):
        with pytest.raises(ValueError, match=f"{feature} {said}") as caught:
            fitted.predict(frame.assign(**{feature: value}))
        assert "31415" not in str(caught.value)


def test_the_page_has_every_field(tmp_path: Path) -> None:
    run(tmp_path, line("crosses", "2026-01-01", 60), model="crosses")
    page = (Path(__file__).parents[4] / "docs" / "reference" / "reports.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)`", page.partition("\n## The model file\n")[2], re.MULTILINE)
    assert rows == list(json.loads((tmp_path / "model.json").read_text()))


def test_a_model_is_written_and_nothing_is_printed(tmp_path: Path) -> None:
    result = run(tmp_path, line("crosses", "2026-01-01", 60), model="crosses")
    assert result.stdout == ""
    assert re.search(r"wrote .*model\.json: \d\.\d kB; an app can ship it", result.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 1], ids=["first", "last"])
def test_a_verbose_table_has_windows_with_and_without_a_model(tmp_path: Path, few: int) -> None:
    windows = [line("products", f"2026-01-0{day}", 0 if day == few + 1 else 1) for day in (1, 2)]
    result = CliRunner().invoke(command, ["report", *places(tmp_path, *windows), "--verbose"])
    assert result.exit_code == 0, result.output
    assert set(re.findall(r"(\S+) +no reports", result.stdout)) == {f"2026-01-0{few + 1}"}
    assert f"2026-01-0{2 - few}      " in result.stdout
    assert "AUC" not in result.stdout  # so few reports do not tell it


@pytest.mark.parametrize(
    ("model", "each", "said"),
    [
        ("dark", 60, "dark is not a model"),
        ("other", 60, "other"),
        ("crosses", 0, "no window of crosses has enough reports"),
    ],
)
def test_where_there_is_no_model_no_file_is_written(tmp_path: Path, model: str, each: int, said: str) -> None:
    result = run(tmp_path, line("crosses", "2026-01-01", each), model=model)
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize(
    ("content", "said"), [("{", "not a model"), ('{"schema": 1}', "not a model"), (None, "cannot be read")]
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "model.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ReportError, match=said):
        estimator.load_model(file)


@pytest.fixture(scope="module", params=["products", "crosses"])
def model_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The contents of a model's file."""
    folder = tmp_path_factory.mktemp("model")
    run(folder, line(request.param, "2026-01-01", 60), model=request.param)
    return (folder / "model.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("label", [{}, {"kind": "category"}])
def test_a_model_of_an_unknown_label_is_refused(tmp_path: Path, model_file: str, label: dict[str, str]) -> None:
    file = tmp_path / "model.json"
    file.write_text(json.dumps(json.loads(model_file) | {"label": label}))
    with pytest.raises(ReportError, match="has no label of kind boolean or number"):
        estimator.load_model(file)


@pytest.mark.parametrize(
    ("place", "field", "value"),
    [
        (0, "low", None),
        (0, "high", 18.0),
        (0, "values", ["a", "b"]),
        (0, "weights", []),
        (1, "values", ["f"]),
        (1, "values", ["f", "f"]),
        (2, "weights", [1.0]),
        (None, "norm", -1.0),
        (None, "inputs", []),
    ],
)
def test_a_model_that_lacks_something_is_refused(
    tmp_path: Path, model_file: str, place: int | None, field: str, value: object
) -> None:
    file = tmp_path / "model.json"
    document = json.loads(model_file)
    learned = document["learned"]
    assert [each["name"] for each in learned["inputs"]] == ["age", "sex", "health"]
    (learned if place is None else learned["inputs"][place])[field] = value
    file.write_text(json.dumps(document))
    with pytest.raises(ReportError, match="has no weights, or a range without ends"):
        estimator.load_model(file)


def test_a_model_of_another_schema_is_refused(tmp_path: Path) -> None:
    run(tmp_path, line("crosses", "2026-01-01", 60), model="crosses")
    file = tmp_path / "model.json"
    file.write_text(file.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(ReportError, match="does not have schema 1"):
        estimator.load_model(file)


def test_without_scikit_learn_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, line("crosses", "2026-01-01", 60), model="crosses")
    monkeypatch.setitem(sys.modules, "estimator.scikit_learn", None)
    with pytest.raises(MissingLibraryError, match=r"hearsay-ldp\[sklearn\]"):
        estimator.load_model(tmp_path / "model.json")
