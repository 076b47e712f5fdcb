"""The shared vocabulary of client, collector and estimator.

This package imports only the standard library. Its subpackages include ``registry`` (reads
metrics.toml), ``mechanisms`` (probabilities and perturbation), ``kinds`` (the possible answers) and
``wire`` (request and response bodies). Each of these four may import only the ones named after it.
The kinds of questions about texts, vectors and models have their own modules next to the
subpackages.

As long as a version of Hearsay supports a ``schema`` number of registries, and the paths below
``/v1`` of the collector's HTTP API, it guarantees the following:

* The meaning of a definition never changes: the same definition has the same channel integers and
  the same edition in every version and on every machine.
* The mechanism that ``mechanism = "auto"`` chooses for a kind and an epsilon never changes within a
  schema number. A version of Hearsay that lacks a definition's mechanism refuses the definition.
* Request and response bodies contain only the specified fields. A new field requires a new protocol
  version.
* The codes of refusals are never renamed or given another meaning. A new protocol version may add
  codes.
"""

import importlib
import typing

from client_sdk.protocol.budget import Budget, Strategy
from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.errors import HearsayError, OutsideDomainError, RegistryError, UnknownMetricError, WindowError
from client_sdk.protocol.kinds.kind import Kind, Label
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import GRACE_S, Window, WindowKind
from client_sdk.protocol.wire.report import MAX_REPORTS, Report, Upload

if typing.TYPE_CHECKING:
    from client_sdk.protocol.wire.strict_json import Malformed, MalformedError
    from client_sdk.protocol.wire.verdict import CLOCK_SKEW_S, Refusal, Verdict

__all__ = [
    "CLOCK_SKEW_S",
    "COIN_SCALE",
    "GRACE_S",
    "MAX_REPORTS",
    "Budget",
    "Channel",
    "Coins",
    "HearsayError",
    "Kind",
    "Label",
    "Malformed",
    "MalformedError",
    "Metric",
    "OutsideDomainError",
    "Refusal",
    "Registry",
    "RegistryError",
    "Report",
    "Strategy",
    "UnknownMetricError",
    "Upload",
    "Verdict",
    "Window",
    "WindowError",
    "WindowKind",
]

_OF_ANSWERS = {
    "CLOCK_SKEW_S": "verdict",
    "Malformed": "strict_json",
    "MalformedError": "strict_json",
    "Refusal": "verdict",
    "Verdict": "verdict",
}
"""Maps each name about a collector's response to the module in `client_sdk.protocol.wire` that
defines it."""


def __getattr__(name: str) -> object:
    """Import a name about a collector's response when it is first used."""
    if name not in _OF_ANSWERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.wire.{_OF_ANSWERS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names in the package, including public names that are not imported yet."""
    return sorted({*globals(), *__all__})
