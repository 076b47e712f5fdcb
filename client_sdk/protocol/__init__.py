"""The shared vocabulary of client, collector and estimator.

It imports the standard library only. Its sub-packages, from the top down: ``registry``
(metrics.toml), ``mechanisms`` (laws and perturbation), ``kinds`` (possible answers; ``texts``,
``vectors`` and ``models`` have packages of their own) and ``wire`` (bodies that are sent).

Compatibility policy, for as long as a ``schema`` and ``/v1`` are served:

* The meaning of a definition never changes: the same definition has the same channel integers and
  the same edition in every version and on every machine.
* What ``mechanism = "auto"`` chooses for a kind and an epsilon never changes within a schema. A
  version that lacks the mechanism refuses the definition.
* Bodies of the wire are closed: a new field means a new version of the wire.
* Refusal codes are never renamed or given another meaning. A new version of the wire may add codes.
"""

from client_sdk.protocol.budget import Budget, Strategy
from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins
from client_sdk.protocol.errors import HearsayError, OutsideDomainError, RegistryError, UnknownMetricError, WindowError
from client_sdk.protocol.kinds.kind import Kind, Label
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import GRACE_S, Window, WindowKind
from client_sdk.protocol.wire.report import MAX_REPORTS, Report, Upload
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
