"""The three ways of data through the code, station by station.

`tools.architecture` draws them, and a test follows them.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Step(NamedTuple):
    """One station of a way of data.

    Attributes:
        place: ``folder/module.py:name`` of a function, a method or a class, relative to the root.
        does: what happens there, in a few words.
        by: the module that hands the data on from the station before: it imports both, or is one of
            them. Empty if the station before does it itself.

    """

    place: str
    does: str
    by: str = ""


WAYS: Final[dict[str, tuple[Step, ...]]] = {
    "answer_to_bytes": (
        Step("client_sdk/telemetry.py:record", "takes the app's true answer, if the user consents"),
        Step(
            "client_sdk/answers/schedule.py:randomize", "knows whether the answer is permanent, and which coins to toss"
        ),
        Step("client_sdk/protocol/metric.py:perturb", "turns the answer into a symbol, and perturbs it with coins"),
        Step(
            "client_sdk/recorder.py:record",
            "opens one transaction; the true answer stays behind",
            by="client_sdk/recorder.py",
        ),
        Step("client_sdk/answers/schedule.py:record", "does what is due by the calendar first"),
        Step("client_sdk/answers/reporting.py:report", "charges and queues one report, or says what stands in its way"),
        Step("client_sdk/ledger/charges.py:charge", "pays for the report, or refuses it: a ceiling is reached"),
        Step(
            "client_sdk/ledger/queue.py:enqueue",
            "queues the report in the same transaction",
            by="client_sdk/answers/reporting.py",
        ),
        Step("client_sdk/protocol/wire/report.py:encode", "writes the waiting reports as one JSON body"),
        Step(
            "client_sdk/ledger/outbox.py:new_parcel",
            "keeps the body under a random id until it is answered",
            by="client_sdk/ledger/outbox.py",
        ),
        Step(
            "client_sdk/sending/transactions.py:look_for_news",
            "does what is due by the calendar, and takes the next body, in one transaction",
            by="client_sdk/sending/transactions.py",
        ),
        Step(
            "client_sdk/sending/uploader.py:Uploader",
            "decides in a thread of its own when the body leaves",
            by="client_sdk/sending/uploader.py",
        ),
        Step("client_sdk/sending/transport.py:post", "sends the bytes within a deadline"),
    ),
    "upload_to_tally": (
        Step("collector/http/routes.py:post_reports", "receives the request and checks its key"),
        Step("collector/api/messages.py:read_body", "reads the bytes, up to the limit"),
        Step("client_sdk/protocol/wire/reading.py:read_upload", "reads them strictly", by="collector/http/routes.py"),
        Step(
            "collector/judge.py:judge",
            "decides which reports count, and why others do not; pure",
            by="collector/http/routes.py",
        ),
        Step(
            "collector/store/store_protocol.py:count",
            "is what the routes know of a store",
            by="collector/http/routes.py",
        ),
        Step(
            "collector/store/redis_store.py:count",
            "is the store that service.py hands to the routes",
            by="collector/store/redis_store.py",
        ),
        Step("collector/store/count_script.py:count_command", "writes the call of the script that counts once"),
        Step(
            "collector/store/shards.py:Shards",
            "knows the router and the servers of one store",
            by="collector/store/redis_store.py",
        ),
        Step("collector/redis_servers/router.py:Router", "finds the server that holds the shard, and tries again"),
        Step(
            "collector/redis_servers/connection.py:Connection",
            "sends the call; the script adds to the tally, and answers",
        ),
    ),
    "tally_to_row": (
        Step("estimator/tallies/fetch.py:fetch", "asks the collector for its closed tallies"),
        Step("estimator/tallies/tally.py:decode", "reads them strictly, within bounds"),
        Step(
            "estimator/commands/report_options.py:read_tallies",
            "returns those of the chosen windows",
            by="estimator/commands/report_options.py",
        ),
        Step("estimator/report/report.py:make_report", "selects the tallies", by="estimator/commands/report.py"),
        Step("estimator/analyses/metric.py:analysis_of", "finds the analysis of the shape of the answers"),
        Step("estimator/analyses/answers.py:OneOfLabels", "computes shares, means and their intervals"),
        Step("estimator/decoders/inversions.py:inverse_of", "finds the inverse of the metric's mechanism"),
        Step(
            "estimator/results/estimate.py:Estimate",
            "holds a figure: estimate, interval, standard error",
            by="estimator/analyses/answers.py",
        ),
        Step(
            "estimator/results/metric.py:MetricEstimate",
            "holds the figures of one tally",
            by="estimator/analyses/analysis.py",
        ),
        Step(
            "estimator/results/report.py:EstimateReport",
            "holds every figure as frozen data",
            by="estimator/report/report.py",
        ),
        Step("estimator/render/html/page.py:as_html", "writes the page", by="estimator/render/html/page.py"),
        Step("estimator/render/html/page.py:page_of", "lays out the page, question by question"),
        Step("estimator/render/html/questions.py:question_of", "chooses the rows of a question and formats them"),
    ),
}
"""The ways, by the names of their drawings."""
