"""The shared vocabulary of client, collector and estimator.

This package imports only the standard library. Each of these subpackages imports only subpackages
further down in the list:

* ``registry`` reads metrics.toml.
* ``mechanisms`` defines probabilities and perturbation.
* ``kinds`` defines the possible answers.
* ``wire`` defines request and response bodies.

The kinds ``text``, ``vector`` and ``model`` have their own modules next to the subpackages.

Hearsay guarantees the following for each supported ``schema`` number of registries, and for the
paths below ``/v1`` of the collector's HTTP API:

* The meaning of a metric's definition never changes. The same definition has the same
  `Channel.integers` and the same `Metric.edition` in every version and on every machine.
* Within a schema number, ``mechanism = "auto"`` always chooses the same mechanism for the same
  definition. A version of Hearsay that lacks the mechanism of a definition refuses the definition.
* Request and response bodies contain only the fields that the protocol version specifies. A new
  field requires a new protocol version.
* The codes of refusals keep their names and meanings. A new protocol version may add codes.
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
"""Maps each public name that concerns collectors' responses to its module in
`client_sdk.protocol.wire`."""


def __getattr__(name: str) -> object:
    """Import a name from one of the modules in `_OF_ANSWERS`, when the name is first used."""
    if name not in _OF_ANSWERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.wire.{_OF_ANSWERS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names in the package, including public names that are not imported yet."""
    return sorted({*globals(), *__all__})
