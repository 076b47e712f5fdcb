"""The shared vocabulary of client, collector and estimator.

Compatibility policy, for as long as ``schema = 1`` and ``/v1`` are served:

* the meaning of a definition never changes: the same definition has the same channel integers and the same edition in
  every version and on every machine;
* what ``mechanism = "auto"`` chooses for a domain and an epsilon never changes; a version that lacks the mechanism
  refuses the definition;
* bodies of the wire are closed: a new field means a new version of the wire;
* refusal codes are never renamed or given another meaning; new ones may come with a new version of the wire.
"""

from client_sdk.spec.budget import Budget, Strategy
from client_sdk.spec.channel import COIN_SCALE, Channel, Coins
from client_sdk.spec.domain import Boolean, Category, Count, Cross, Domain, Filled, Label, Number, Ordinal, Subset
from client_sdk.spec.errors import (
    HearsayError,
    MalformedError,
    OutsideDomainError,
    RegistryError,
    UnknownMetricError,
    WindowError,
)
from client_sdk.spec.malformed import Malformed
from client_sdk.spec.metric import Metric
from client_sdk.spec.refusal import Refusal
from client_sdk.spec.registry import Registry
from client_sdk.spec.report import MAX_REPORTS, MAX_UPLOAD_BYTES, Report, Upload, Verdict
from client_sdk.spec.window import CLOCK_SKEW_S, GRACE_S, Window, WindowKind

__all__ = [
    "CLOCK_SKEW_S",
    "COIN_SCALE",
    "GRACE_S",
    "MAX_REPORTS",
    "MAX_UPLOAD_BYTES",
    "Boolean",
    "Budget",
    "Category",
    "Channel",
    "Coins",
    "Count",
    "Cross",
    "Domain",
    "Filled",
    "HearsayError",
    "Label",
    "Malformed",
    "MalformedError",
    "Metric",
    "Number",
    "Ordinal",
    "OutsideDomainError",
    "Refusal",
    "Registry",
    "RegistryError",
    "Report",
    "Strategy",
    "Subset",
    "UnknownMetricError",
    "Upload",
    "Verdict",
    "Window",
    "WindowError",
    "WindowKind",
]
