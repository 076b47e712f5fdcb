"""The page for users: plain words, no Markdown or HTML markup from purposes, and odds that are
never too low.
"""

from __future__ import annotations

import math
import re
import unicodedata
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Registry
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.kinds.words import escaped
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.statement import odds, statement
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSSED_MODEL,
    MODEL,
    NEAREST,
    NUMBER,
    VECTOR,
    Field,
    Toml,
    metric_of,
    registry_text,
)
from tests.support.devices.definitions import TEXT as OF_TEXTS

NASTY = "<script>alert(1)</script> [x](javascript:y) *bold* `code` & ![i](http://e) | ~~s~~ $x$ \\"

METRICS: dict[str, dict[str, Field]] = {
    "dark_mode": BOOLEAN | {"epsilon": "ln 3", "purpose": NASTY, "expires": Toml("2027-12-31")},
    "theme": CATEGORY | {"epsilon": 0.5, "permanent_epsilon": 1, "window": "week"},
    "start": NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-9"), "epsilon": 1},
    "lasting": CATEGORY | {"epsilon": 0.5, "permanent_epsilon": 1},
}

TEXT = registry_text(**METRICS)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"{tag} {attrs}")


def _page(text: str = TEXT) -> str:
    return statement(Registry.parse(text))


def test_the_page_is_in_plain_words() -> None:
    page = _page()
    assert not [letter for letter in page if "GREEK" in unicodedata.name(letter, "")]
    for word in ("epsilon", "delta", "differential", "mechanism", "nanos"):
        assert word not in page.lower()
    for command in ("hearsay-client show --all --data-dir DIR", "hearsay-client forget --data-dir DIR"):
        assert command in page


def test_the_page_holds_no_html_and_no_link_of_a_purpose() -> None:
    page = _page()
    tags = _Tags()
    tags.feed(page)
    assert tags.tags == []
    assert re.search(r"(?<!\\)[\[\]]", page) is None
    assert re.search(r"(?<![\\*])\*bold", page) is None


@settings(derandomize=True)
@given(st.text(st.characters(exclude_categories=["C"]), max_size=60))
def test_no_text_keeps_a_mark(text: str) -> None:
    shown = escaped(text)
    assert "<" not in shown
    assert ">" not in shown
    unescaped = re.sub(r"\\(.)", r"\1", shown)
    for entity, letter in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        unescaped = unescaped.replace(entity, letter)
    assert unescaped == text
    assert re.search(r"[*_`\[\]!|~]", re.sub(r"\\.", "", shown)) is None


def test_every_metric_says_what_why_who_until_when_and_how_often() -> None:
    page = _page()
    dark, theme, start, lasting = page.split("\n## ")[1:5]
    assert dark.startswith(r"dark\_mode")
    assert "alert" in dark
    assert "owner@example.com" in dark
    assert "once a day, until 2027-12-31" in dark
    assert "One answer: even odds can become at most 3 to 1 (about 75 in 100)" in dark
    assert "once a week, with no end date" in theme
    monthly = _page(registry_text(m=BOOLEAN | {"window": "month", "expires": Toml("2026-11-01")}))
    assert "once a month, until the end of the month that contains 2026-11-01" in monthly
    assert "at most 2.8 to 1 (about 74 in 100), except with a chance of 1 in " in start
    assert "A year of answers (at most 366)" in lasting


def _exceptions(page: str) -> list[tuple[Fraction, int]]:
    """Return the odds and in one of how many cases they are exceeded, of each line that says so."""
    lines = re.findall(r"at most ([0-9.,]+) to 1[^,]*, except with a chance of 1 in ([0-9,]+)", page)
    return [(Fraction(ratio.replace(",", "")), int(often.replace(",", ""))) for ratio, often in lines]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, "0.01"), (1, "0.01"), (1, "1e-6"), (3, "1e-6")])
def test_odds_of_gaussian_noise_are_exceeded_no_more_often_than_said(epsilon: float, delta: str) -> None:
    fields = NUMBER | {"mechanism": "gaussian", "delta": Toml(delta), "epsilon": epsilon}
    channel = metric_of(fields).channel
    (ratio, often), *_ = _exceptions(_page(registry_text(m=fields)))
    rows = [[channel.probability(symbol, value) for symbol in range(channel.symbols)] for value in (0, 32)]
    exceeded = sum(low for low, high in zip(*rows, strict=True) if max(low, high) > ratio * min(low, high))
    assert Fraction(1, often + 1) < exceeded <= Fraction(1, often)


def test_every_sum_over_gaussian_reports_says_how_often_it_may_fail() -> None:
    fields = NUMBER | {"mechanism": "gaussian", "delta": Toml("1e-6"), "epsilon": 1}
    budget = "per_window = 1\nlifetime = 4\ndelta = 0.5\n"
    page = _page(registry_text(m=fields).replace("per_window = 20\nlifetime = 400\ndelta = 0.5\n", budget))
    single, year, *totals = _exceptions(page)
    channel = metric_of(fields).channel
    assert isinstance(channel, Gaussian)
    each = channel.chance_beyond(channel.worst_ratio)
    assert [often for _, often in totals] == [math.floor(1 / (reports * each)) for reports in (1, 4, 4, 4)]
    assert year == totals[-1]
    assert single[1] > totals[0][1], "odds that are printed are rounded up, and a report exceeds them less often"


def test_where_gaussian_reports_are_likely_to_exceed_a_sum_there_is_no_bound() -> None:
    fields = NUMBER | {"mechanism": "gaussian", "delta": Toml("0.01"), "epsilon": 0.1}
    budget = "per_window = 1\nlifetime = 4\ndelta = 0.5\n"
    page = _page(registry_text(m=fields).replace("per_window = 20\nlifetime = 400\ndelta = 0.5\n", budget))
    assert "A year of answers (at most 40), taken together: there is no bound" in page
    assert "All answers to all questions in a year: there is no bound" in page


PERMANENT: dict[str, Field] = {"epsilon": 0.9, "permanent_epsilon": 1}


def test_the_life_of_a_device_is_what_it_may_ever_spend_however_long_it_has_been_reporting() -> None:
    page = _page(registry_text(m=BOOLEAN | {"expires": Toml("1970-01-02")}).replace("lifetime = 400", "lifetime = 5"))
    for when in ("in a year", "as long as the device reports"):
        assert f"* All answers to all questions {when}: even odds can become at most 149 to 1" in page


def test_no_year_is_said_to_reveal_more_than_a_life() -> None:
    page = _page(registry_text(a=CATEGORY | PERMANENT, b=BOOLEAN).replace("lifetime = 400", "lifetime = 5"))
    sums = re.findall(r"\* All answers to all questions .*: even odds can become at most 149 to 1", page)
    assert len(sums) == 3


def test_how_metrics_are_chosen_is_said() -> None:
    sampled = registry_text(a=BOOLEAN, b=BOOLEAN).replace("lifetime", 'strategy = "sample"\nanswers = 1\nlifetime')
    page = _page(sampled)
    assert "at most 1 of the questions" in page
    assert "chosen at random" in page
    assert page.count("A year of answers (at most 366)") == 2
    paced = registry_text(a=BOOLEAN | {"expires": Toml("2027-12-31")})
    assert "Your device answers only on some days" in _page(paced.replace("lifetime", 'strategy = "pace"\nlifetime'))


def test_who_answers_for_nothing_is_said() -> None:
    assert "none is named" in _page(registry_text(a=BOOLEAN).replace('owner = "owner@example.com"\n', ""))


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        *(("ln 3", "at most 3 to 1"), (1, "at most 2.8 to 1"), (0.001, "at most 1.1 to 1"), (5, "at most 149 to 1")),
        *(("ln 9.51", "at most 9.6 to 1"), ("ln 10.4", "at most 11 to 1")),
    ],
)
def test_odds_are_rounded_up(epsilon: float | str, words: str) -> None:
    nanos = metric_of(BOOLEAN | {"epsilon": epsilon}).epsilon_nanos
    assert odds(nanos, shipped()) == words


def test_odds_of_a_million_are_as_good_as_knowing() -> None:
    assert odds(14 * NANOS, shipped()) == "more than a million to 1, which is as good as knowing"
    assert float(odds(13 * NANOS, shipped()).split()[2].replace(",", "")) >= math.exp(13) * (1 - 1e-8)


DISCLOSED = "* What sending a report reveals: that "
RECORDED = "the application recorded something for this question on the day that the report names"
RAN = "the application ran {} that the report names, and nothing else"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (BOOLEAN, f"{RECORDED}. Whether it recorded anything may depend on what you did"),
        (COUNT, "something was counted on the day that the report names. If nothing is counted, nothing is sent"),
        (BOOLEAN | {"fill_in": True, "window": "week"}, RAN.format("in the week")),
        (COUNT | {"fill_in": True, "fill_value": 0}, RAN.format("on the day")),
        (ACTIVITY | {"fill_in": True}, RAN.format("on the day")),
        (ACTIVITY, "the application was used on the day that the report names"),
    ],
)
def test_of_every_metric_the_page_says_what_an_answer_tells_by_being_sent(fields: dict[str, Field], words: str) -> None:
    page = _page(registry_text(m=fields))
    assert f"{DISCLOSED}{words}\n" in page
    assert "The fact that a report is sent can reveal more; each question says what." in " ".join(page.split())


KEPT = "* What your device stores"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (COUNT | {"persist": True}, ": the count, until the application first runs after the day, or you opt out"),
        (ACTIVITY, ": the days of use, until they no longer count or you opt out"),
        (BOOLEAN | PERMANENT, " until you opt out: data that reveals your answers to anybody who can read it"),
    ],
)
def test_the_page_says_which_true_answers_stand_on_the_disk_of_the_device(fields: dict[str, Field], words: str) -> None:
    assert f"{KEPT}{words}\n" in _page(registry_text(m=fields))
    assert KEPT not in _page(registry_text(a=COUNT, b=BOOLEAN))


def test_the_page_says_that_days_of_use_stay_on_the_device() -> None:
    page = _page(registry_text(used=ACTIVITY | {"days": 28, "window": "week"}))
    assert "on how many of the last 28 days, up to the end of a week, the application was used" in page
    assert "What sending a report reveals: that the application was used in the week that the report names" in page


@pytest.mark.parametrize("changes", [{}, {"fill_in": True}], ids=["plain", "filled in"])
def test_the_page_says_that_only_the_nearest_label_is_reported(changes: dict[str, Field]) -> None:
    page = _page(registry_text(topic=NEAREST | changes))
    assert "which of 3 labels is closest to your data, which stays on the device" in page
    assert "labels" not in _page(registry_text(topic=CATEGORY))


def test_the_page_says_that_a_direction_is_reported_and_no_number() -> None:
    page = _page(registry_text(embedding=VECTOR | {"length": 300}))
    assert "one direction, chosen at random, toward which a list of 300 numbers roughly points" in page
    assert "the numbers stay on the device" in page


def test_the_page_says_what_of_a_text_leaves_the_device_and_what_its_group_tells() -> None:
    page = _page(registry_text(word=OF_TEXTS))
    assert "the first 12 letters of a text; the text itself stays on the device" in page
    assert "a randomized number, one of 3,541. Several texts can have the same number" in page
    assert "which of 16 ways to number texts was chosen. This choice reveals nothing about your text" in page
    assert "texts that many people have in common, and how common any given text is" in page
    assert "a text that just one person has does not stand out, and is found only by chance" in page
    named = _page(registry_text(word=OF_TEXTS | {"discover": False, "max_items": 3, "other": "_"}))
    assert "the first 12 letters of each of at most 3 texts; the texts themselves stay on the device" in named
    assert "which of 2 ways to number texts" in named
    assert "No text can be read from the answers" in named
    assert "counts as “\\_”" in named
    in_bytes = _page(registry_text(word=_in_bytes(OF_TEXTS)))
    assert "the first 12 bytes of a text; the text itself stays on the device" in in_bytes


def _in_bytes(definition: dict[str, Field]) -> dict[str, Field]:
    return {key: value for key, value in definition.items() if key != "letters"} | {"preset": "bytes"}


def test_the_page_says_what_of_the_features_of_a_model_is_reported() -> None:
    about = "What the question is about: age, sex, health, and a value to predict from them"
    vector, crosses = (_page(registry_text(m=model)) for model in (MODEL, CROSSED_MODEL))
    assert about in vector
    assert about in crosses
    assert "a list of 19 numbers roughly points" in vector
    assert "one of these features, chosen at random, together with the value to predict" in crosses
    assert "the other features stay on the device" in crosses


def test_the_page_says_how_long_counts_are_kept_where_the_registry_does() -> None:
    assert "are kept:" not in _page()
    kept = _page(registry_text(brief=BOOLEAN | {"retention": 1}, long=BOOLEAN | {"retention": 1500, "window": "week"}))
    assert "the totals are kept: one day after the collector has stopped accepting answers for a day" in kept
    assert "the totals are kept: 1,500 days after the collector has stopped accepting answers for a week" in kept


def test_the_page_says_which_value_stands_for_answers_that_are_not_listed() -> None:
    page = _page(registry_text(theme=CATEGORY | {"other": "c", "epsilon": 1}))
    assert "* An answer that is not on the list counts as “c”, and its text stays on your device" in page
    assert "not on the list" not in _page()


def test_for_browsers_the_page_says_what_holds_per_window_and_per_life_of_the_storage() -> None:
    text = registry_text(dark_mode=BOOLEAN | {"epsilon": 1})
    page, web = _page(text), _page(text.replace("lifetime = 400", "lifetime = 4\nweb_year = 7320"))
    assert "All answers to all questions as long as the device reports" in page
    assert "browser" not in page
    assert (
        "* All answers to all questions until the browser deletes its storage: even odds can become at most 55" in web
    )
    assert "* Day, month and year assume a browser that deletes its storage again and again" in web
    year = re.search(r"\* All answers to all questions in a year: even odds can become (.*)", web)
    assert year is not None
    assert year[1] == odds(366 * NANOS, shipped())
    assert "the day, week or month in which the storage was created" in " ".join(web.split())


@pytest.mark.parametrize(("strategy", "alone"), [("pace", ["39", "39"]), ("split", [])])
def test_the_page_says_how_many_more_answers_are_sent_if_others_are_left_out(strategy: str, alone: list[str]) -> None:
    metric = BOOLEAN | {"epsilon": 1, "expires": Toml("2027-12-31")}
    text = registry_text(a=metric, b=metric).replace("per_window = 20", f'strategy = "{strategy}"\nper_window = 3')
    page = " ".join(_page(text.replace("lifetime = 400", "lifetime = 40")).split())
    assert re.findall(r"If other questions are stopped, .*? up to (\d+) times a year", page) == alone
