"""The evidence for the rows of the privacy page: wrong products, each refused by a row's tests.

A wrong product is the right one with a few words of one file replaced. It is a tree of links to
everything else, so that all processes of a test run it: devices, collectors and relays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]

FOLDERS = ("client_sdk", "collector", "estimator", "tests", "tools", "examples", "docker", "docs", "benchmarks")
FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile")


class WrongProduct(NamedTuple):
    """The product with a few words replaced.

    Attributes:
        file: which file is wrong.
        right: words that it holds once.
        wrong: what stands there instead.
        refused_by: the tests that must fail, as the page names them.

    """

    file: str
    right: str
    wrong: str
    refused_by: tuple[str, ...]

    def plant(self, folder: Path) -> None:
        """Make the tree in an empty folder."""
        for name in (*FOLDERS, *FILES):
            (folder / name).symlink_to(ROOT / name)
        here, there = folder, ROOT
        for part in Path(self.file).parts:
            here, there = here / part, there / part
            here.unlink()
            if there.is_file():
                here.write_text(self._replaced(there.read_text(encoding="utf-8")), encoding="utf-8")
                return
            here.mkdir()
            for entry in there.iterdir():
                if entry.name != "__pycache__":
                    (here / entry.name).symlink_to(entry)

    def _replaced(self, text: str) -> str:
        assert text.count(self.right) == 1, f"{self.file} holds {text.count(self.right)} times: {self.right}"
        return text.replace(self.right, self.wrong)


def environment(folder: Path) -> Mapping[str, str]:
    """Return the environment in which every process takes the tree of a folder for the product."""
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


RECORDED_LAW = "tests/exact/test_recorded_law.py::test_what_leaves_a_device_has_the_declared_law_of_its_answer"
LAWS = "tests/exact/test_laws.py::test_no_symbol_is_likelier_than_e_to_the_declared_epsilon_times_that_of_another_input"
CEILINGS = (
    "tests/unit/client_sdk/ledger/test_charges.py::test_no_ceiling_is_ever_exceeded_and_nothing_is_refused_that_fits_"
    "whatever_the_periods_are_called"
)
SAME_PERMANENT = (
    "tests/unit/client_sdk/answers/test_permanent.py::test_the_same_answer_has_the_same_permanent_answer_and_another_"
    "metric_another"
)
ATTACK = (
    "tests/exact/test_permanent_attack.py::test_the_best_attack_recovers_a_permanent_answer_as_often_as_epsilon_says"
)
HOSTILE = "tests/faults/test_hostile_collector.py::test_no_answer_to_an_upload_marks_another"
SILENCE = (
    "tests/unit/client_sdk/sending/test_silence.py::test_what_is_sent_has_the_same_number_time_and_length_with_and_"
    "without_answers"
)
RELAY = (
    "tests/end_to_end/test_relay.py::test_nothing_of_a_device_but_its_upload_gets_to_the_collector_or_into_the_relays_"
    "log"
)
REWRITE = (
    "tests/end_to_end/test_canaries.py::test_after_a_rewrite_nothing_tells_which_answers_came_together_or_in_which_"
    "order"
)
LOGS = (
    "tests/end_to_end/test_canaries.py::test_no_address_agent_secret_or_value_is_kept_logged_counted_or_answered_by_"
    "the_collector"
)
AMPLIFICATION = "tests/exact/test_amplification.py::test_no_channel_reveals_more_than_the_bound"
PAIRS = "tests/exact/test_amplification.py::test_no_pair_of_answers_reveals_more_than_the_bound"
TRACES = (
    "tests/exact/test_answers_leave_no_trace.py::test_two_answers_of_any_kind_that_are_reported_alike_leave_the_same_"
    "bytes"
)
HISTORIES = (
    "tests/exact/test_answers_leave_no_trace.py::test_over_random_histories_different_answers_that_are_reported_alike_"
    "leave_the_same_bytes"
)
DECLARED = (
    "tests/exact/test_answers_leave_no_trace.py::test_of_running_counts_and_days_of_use_all_but_the_declared_columns_"
    "is_the_same"
)
WIPING = "tests/unit/client_sdk/ledger/test_erase.py::test_wiping_leaves_nothing_but_charges_and_the_app"
EVERY_ANSWER = "tests/unit/client_sdk/test_every_answer.py::test_every_answer_is_in_the_history_or_waits_or_is_dropped"
SUMS = "tests/exact/test_accounting.py::test_a_few_reports_compose_as_exact_sums_say"
KILLS = "tests/faults/test_ledger_survives_kill.py::test_a_killed_process_leaves_ledger_and_queue_consistent"
CLOCK_BY_A_DAY = (
    "tests/unit/client_sdk/ledger/test_charges.py::test_a_clock_that_is_set_back_by_up_to_a_day_is_read_as_standing_"
    "still"
)
CLOCK_FARTHER = (
    "tests/unit/client_sdk/ledger/test_charges.py::test_a_clock_that_is_set_back_farther_is_not_believed_until_it_gets_"
    "there"
)
OPTING_IN = "tests/unit/client_sdk/test_telemetry.py::test_opting_in_again_renews_no_budget"
COPIES = (
    "tests/unit/client_sdk/ledger/test_origin.py::test_on_fresh_disks_and_in_layers_of_images_a_copy_with_the_same_"
    "number_spends_nothing"
)
PURPOSES = (
    "tests/unit/client_sdk/test_consent.py::test_without_consent_to_its_purpose_nothing_of_a_metric_is_recorded_"
    "charged_or_sent"
)
WITHDRAWING = (
    "tests/unit/client_sdk/test_consent.py::test_withdrawing_a_purpose_drops_what_waits_of_it_and_nothing_else"
)
VECTORS = (
    "tests/exact/test_laws_of_vectors.py::test_every_path_obeys_the_declared_law_and_the_ratio_is_exactly_e_to_epsilon"
)
VECTORS_COINS = "tests/exact/test_laws_of_vectors.py::test_every_vector_takes_the_same_coins"
PARTICIPATION = (
    "tests/exact/test_participation.py::test_what_is_charged_is_the_same_for_who_records_everything_nothing_or_the_"
    "opposite"
)

VALIDITY = (
    "tests/unit/client_sdk/answers/test_law_of_silence.py::test_whether_answers_are_valid_changes_no_report_no_charge_"
    "no_time_and_no_row"
)

METRIC, TELEMETRY = "client_sdk/protocol/metric.py", "client_sdk/telemetry.py"
CHARGES = "client_sdk/ledger/charges.py"
AXES = "client_sdk/protocol/mechanisms/rotated_axes.py"

FORGETS_ANSWER = "        del encode  # "
"""The last place where `record` has an answer: the second argument of `encode`."""

ANSWER = "encode.args[1]"

WRONG_PRODUCTS: dict[str, tuple[str, WrongProduct]] = {
    "the answer itself is sent": (
        "the collector, and anyone who breaks into it",
        WrongProduct(
            METRIC, "return channel.perturb(encode(coins), coins)", "return int(encode(coins))", (RECORDED_LAW,)
        ),
    ),
    "epsilon is declared smaller than it is": (
        "the collector, and anyone who breaks into it",
        WrongProduct(
            "client_sdk/protocol/mechanisms/k_ary_randomized_response.py",
            "Fraction(self.keep_numerator * (self.inputs - 1), COIN_SCALE - self.keep_numerator)",
            "Fraction(99 * self.keep_numerator * (self.inputs - 1), 100 * (COIN_SCALE - self.keep_numerator))",
            (LAWS,),
        ),
    ),
    "no ceiling is enforced": (
        "the collector, over a device's life",
        WrongProduct(CHARGES, "    if allowed:\n", "    if allowed := True:\n", (CEILINGS,)),
    ),
    "a permanent answer is drawn anew for each report": (
        "the collector, if an answer never changes",
        WrongProduct(
            "client_sdk/answers/randomized.py",
            "coins_for = partial(prf_coins.PrfCoins, secret.key)",
            'coins_for = lambda *_: prf_coins.PrfCoins(__import__("os").urandom(32))',
            (SAME_PERMANENT,),
        ),
    ),
    "a permanent answer is the true one too often": (
        "the collector, if an answer never changes",
        WrongProduct(
            "client_sdk/protocol/mechanisms/permanent.py",
            "return value, self.permanent.perturb(value, coins_of(PERMANENT, *labels, str(value)))",
            "return value, value",
            (ATTACK,),
        ),
    ),
    "a cookie is kept": (
        "a malicious collector",
        WrongProduct(
            "client_sdk/sending/transport.py",
            '                    has_key = "Authorization" in self._headers\n',
            '                    has_key = "Authorization" in self._headers\n'
            '                    self._headers = {**self._headers, "Cookie": response.headers.get("Set-Cookie", "")}\n',
            (HOSTILE,),
        ),
    ),
    "what was answered leaves at once": (
        "someone who watches the network",
        WrongProduct(
            "client_sdk/ledger/queue.py",
            "UPDATE queue SET symbol = :symbol WHERE metric",
            "UPDATE queue SET symbol = :symbol, release = 0 WHERE metric",
            (SILENCE,),
        ),
    ),
    "the relay logs the head of a request": (
        "the operator of a relay",
        WrongProduct(
            "collector/relay/app.py",
            '        content_length = headers.get(b"content-length", "")\n',
            '        content_length = headers.get(b"content-length", "")\n        _log.warning("%s", headers)\n',
            (RELAY,),
        ),
    ),
    "the store keeps the order of uploads": (
        "someone who reads the store or a backup",
        WrongProduct(
            "collector/store/count_script.py",
            "  local tally, symbols, reported = unpack(",
            "  redis.call('RPUSH', shard .. 'order', id)\n  local tally, symbols, reported = unpack(",
            (REWRITE,),
        ),
    ),
    "the collector logs what it counted": (
        "someone who reads logs and metrics",
        WrongProduct(
            "collector/routes.py",
            "    counted = service.store.count(judgement)\n",
            "    counted = service.store.count(judgement)\n    current_app.logger.error(upload.id)\n",
            (LOGS,),
        ),
    ),
    "a blanket of less than all answers": (
        "readers of published tallies",
        WrongProduct(
            "estimator/plan/blanket.py",
            "1 - row.likelier(channel) * (1 - 1 / channel.worst_ratio)",
            "1 - row.likelier(channel) * (1 - 1 / channel.worst_ratio) / 2",
            (PAIRS,),
        ),
    ),
    "half of delta is declared": (
        "readers of published tallies",
        WrongProduct(
            "estimator/plan/blanket.py",
            "return min(1.0, (known + self.missed + UNDERFLOW) * ROUNDING)",
            "return min(1.0, (known + self.missed + UNDERFLOW) / 2)",
            (AMPLIFICATION,),
        ),
    ),
    "a digest of the answer in a file": (
        "someone who reads the device's disk or logs",
        WrongProduct(
            TELEMETRY,
            FORGETS_ANSWER,
            "        if self._path is not None and self._path.parent.exists():\n"
            f'            self._path.with_name("cache").write_text(str(hash(str({ANSWER})) % 97))\n' + FORGETS_ANSWER,
            (TRACES, HISTORIES, DECLARED),
        ),
    ),
    "a digest of the answer in the log": (
        "someone who reads the device's disk or logs",
        WrongProduct(
            TELEMETRY,
            FORGETS_ANSWER,
            f'        warn("took %d ms", hash(str({ANSWER})) % 97)\n' + FORGETS_ANSWER,
            (TRACES,),
        ),
    ),
    "opting out keeps the secret": (
        "someone who reads the disk, if a question has permanent answers",
        WrongProduct("client_sdk/ledger/erase.py", "SET secret = NULL, agrees = 0", "SET agrees = 0", (WIPING,)),
    ),
    "busy answers are not counted": (
        "the user",
        WrongProduct("client_sdk/ledger/losses.py", "        Recorded.BUSY,\n", "", (EVERY_ANSWER,)),
    ),
    "the last report of a kind is not added": (
        "the total epsilon of a few reports is exact",
        WrongProduct(
            "estimator/plan/exposure.py",
            "_distribution_of(loss).times(number, tail)",
            "_distribution_of(loss).times(max(1, number - 1), tail)",
            (SUMS,),
        ),
    ),
    "a report is queued after its charge was committed, with the next one": (
        "after a crash, both charge and report exist, or neither",
        WrongProduct(
            "client_sdk/answers/reporting.py",
            "        queue.enqueue(connection, queued, release_s(window, coins) if held else 0, leaves_s)\n",
            '        for late in vars(queue).pop("late", ()):\n'
            "            queue.enqueue(connection, late, 0, leaves_s)\n"
            '        vars(queue)["late"] = [queued]\n',
            (KILLS,),
        ),
    ),
    "the ledger's time goes back": (
        "setting the clock back renews no budget",
        WrongProduct(CHARGES, "return max(clock_s, float(seen_s))", "return clock_s", (CLOCK_BY_A_DAY,)),
    ),
    "a clock that was set back far is believed": (
        "setting the clock back renews no budget",
        WrongProduct(CHARGES, "if clock_s < seen_s - CLOCK_BACK_S:", "if clock_s < 0:", (CLOCK_FARTHER,)),
    ),
    "opting out forgets what was spent": (
        "opting in again renews no budget",
        WrongProduct(
            "client_sdk/ledger/erase.py",
            'connection.execute("UPDATE charges SET reported = 1")  #',
            'connection.execute("DELETE FROM charges")  #',
            (OPTING_IN,),
        ),
    ),
    "a copy is not recognized by its birth": (
        "a copied ledger spends no budget",
        WrongProduct(
            "client_sdk/ledger/origin.py",
            "for pair in zip(self, other, strict=True))",
            "for pair in [(self.inode, other.inode)])",
            (COPIES,),
        ),
    ),
    "any purpose covers every question": (
        "without consent to its purpose, a question is neither recorded nor charged nor sent",
        WrongProduct(
            "client_sdk/answers/consent.py",
            "return metric is not None and bool(metric.consent) and metric.consent <= consent",
            "return metric is not None",
            (PURPOSES,),
        ),
    ),
    "the queue outlives its purpose": (
        "withdrawing consent to a purpose drops the queued reports of questions with this purpose",
        WrongProduct(
            "client_sdk/ledger/erase.py",
            'for table in ("queue", "history", "counts")}\n',
            'for table in ("history", "counts")}\n',
            (WITHDRAWING,),
        ),
    ),
    "of some vectors one axis alone is favoured": (
        "the report of any vector favors the same number of axes and draws the same number of coins",
        WrongProduct(
            AXES,
            "kept = favoured[coins.below(self.favoured)]",
            "kept = favoured[coins.below(self.favoured) * (value[0] <= 0)]",
            (VECTORS,),
        ),
    ),
    "coins of an axis that is not reported are saved": (
        "the report of any vector favors the same number of axes and draws the same number of coins",
        WrongProduct(
            AXES,
            "other = self._others(favoured)[coins.below(2 * self.dimension - self.favoured)]",
            "other = 0 if keep else self._others(favoured)[coins.below(2 * self.dimension - self.favoured)]",
            (VECTORS_COINS,),
        ),
    ),
    "an invalid answer is lost": (
        "an invalid answer changes neither the existence of a report nor its charge, time or size",
        WrongProduct(
            "client_sdk/answers/mistakes.py", "        return draw()\n", "        raise mistake\n", (VALIDITY,)
        ),
    ),
    "what is drawn is paid for when it is recorded": (
        "under the strategies `sample` and `pace`, and for questions with `fill_in`, charges do not depend on answers",
        WrongProduct(
            "client_sdk/answers/calendar.py",
            "return registry.budget.strategy is not Strategy.SPLIT or definition.fill is not None",
            "return definition.fill is not None",
            (PARTICIPATION,),
        ),
    ),
}
"""Wrong products by name, each with the first cell of the page's row that it breaks."""


REFUSALS = [(name, test) for name, (_, product) in WRONG_PRODUCTS.items() for test in product.refused_by]
"""Each wrong product's name with each test that refuses it."""
