"""Mistakes of a file are named with its lines, its allowed values, and what was probably meant."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest

from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.kinds import KINDS
from client_sdk.protocol.registry.lines import line_of, lines_of

TEXT = '''\
schema = 1
app.name = "acme" # a dotted key

[budget]
per_window = 20
lifetime = -1

[metric.os]
purpose = """
Which [systems]?
"""
kind = "kategory"
values = [
  "a", # }
  "b",
]
epsilom = 1

[metric]
dark_mode = { purpose = "Why?", kind = "boolean", epsilon = 0 }

[metric.'odd.name']
kind = "bolean"
windw = "day"
window = "fortnight"
mechanism = "hybird"
'''


def test_every_header_and_key_has_the_line_in_which_it_begins() -> None:
    lines = lines_of(TEXT)
    numbered = TEXT.splitlines()
    for place, start in {
        "schema": "schema",
        "app.name": "app.name",
        "budget": "[budget]",
        "budget.lifetime": "lifetime",
        "metric.os": "[metric.os]",
        "metric.os.purpose": "purpose",
        "metric.os.values": "values",
        "metric.os.epsilom": "epsilom",
        "metric.dark_mode.epsilon": "dark_mode",
        "metric.odd.name.kind": 'kind = "bolean"',
    }.items():
        assert numbered[lines[place] - 1].startswith(start), place
    assert line_of("metric.os.epsilon", lines) == lines["metric.os"]
    assert line_of("nowhere", lines) == 1


def test_all_mistakes_are_named_at_once_with_their_lines_and_what_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(TEXT, encoding="utf-8")
    with pytest.raises(RegistryError) as caught:
        Registry.load(path)
    said = str(caught.value).splitlines()
    assert len(said) == len(caught.value.mistakes) >= 9
    for line in (
        f"{path}:6: budget.lifetime: must be above 0",
        f"{path}:12: metric.os.kind: must be one of: {', '.join(KINDS)}" + '; did you mean "category"?',
        f'{path}:17: metric.os.epsilom: is an unknown key; did you mean "epsilon"?',
        f"{path}:8: metric.os.epsilon: is missing",
        f"{path}:20: metric.dark_mode.epsilon: must be from 0.000001 to 20, not 0",
        f'{path}:24: metric.odd.name.windw: is an unknown key; did you mean "window"?',
        f'{path}:25: metric.odd.name.window: must be "day", "week" or "month"',
    ):
        assert line in said, "\n".join(said)


def test_a_mechanism_that_is_misspelled_is_guessed() -> None:
    text = TEXT.partition("[metric.os]")[0].replace("-1", "60")
    metric = '[metric.m]\npurpose = "Why?"\nkind = "boolean"\nepsilon = 1\nmechanism = "randomized-respons"\n'
    with pytest.raises(RegistryError, match='did you mean "randomized-response"'):
        Registry.parse(text + metric)


ODD = """\
a = ["]", '[', # ] [
  "\\"]",
  1]
b = \'\'\'[
\\\'\'\'\'\'
c = \"\"\"
\\\"\"\" # no comment
d = 0
\"\"\"
e = "one line\u2028 of TOML" # \u2028
 [ f . "#" ]
g = { h = "}", i = [{ j = ']' }] }
k = ""
l = 'C:\\'
m = 1"""


def test_texts_comments_and_brackets_do_not_hide_where_a_key_begins() -> None:
    assert tomllib.loads(ODD)
    numbered = ODD.split("\n")
    keys = {place: line for place, line in lines_of(ODD).items() if place.rpartition(".")[2] in set("abcegklm")}
    assert sorted(place.rpartition(".")[2] for place in keys) == list("abcegklm")
    for place, line in keys.items():
        assert numbered[line - 1].lstrip().startswith(place.rpartition(".")[2]), place


@pytest.mark.parametrize("place", ["[{}]", "[metric.m]\n{} = 1", "[metric.m]\nkind.{} = 1", "[metric.m.{}]\nb = 1"])
def test_a_key_of_a_thousand_parts_is_a_mistake_like_any_other(tmp_path: Path, place: str) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(f"schema = 1\n{place.format('a.' * 1099 + 'a')}\n", encoding="utf-8")
    with pytest.raises(RegistryError, match=f"{path}:[23]: (a|metric.m.(a|kind)): "):
        Registry.load(path)


def test_values_full_of_brackets_are_found_at_once(tmp_path: Path) -> None:
    values = "".join(f'  "v{index}]", # ]\n' for index in range(20_000))
    path = tmp_path / "metrics.toml"
    path.write_text(f"schema = 1\n[metric.m]\nvalues = [\n{values}]\nepsilom = 1\n", encoding="utf-8")
    begun_s = time.process_time()
    with pytest.raises(RegistryError, match=f"{path}:20005: metric.m.epsilom"):
        Registry.load(path)
    assert (
        time.process_time() - begun_s < 5
    )  # with a time that grows with the square, a tenth of the values took longer
