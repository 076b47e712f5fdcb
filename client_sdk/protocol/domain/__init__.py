"""What may be answered, and the input symbol of each answer: one file per kind.

Imports coins of the vocabulary only.
"""

from __future__ import annotations

from client_sdk.protocol.domain.activity import PERIODS, Activity
from client_sdk.protocol.domain.boolean import Boolean
from client_sdk.protocol.domain.category import MAX_CATEGORIES, Category, Ordinal
from client_sdk.protocol.domain.cross import MAX_CELLS, Cross, Crossed
from client_sdk.protocol.domain.error import DomainError
from client_sdk.protocol.domain.filled import Filled
from client_sdk.protocol.domain.label import Label
from client_sdk.protocol.domain.mean_by_group import MeanByGroup
from client_sdk.protocol.domain.model import LABEL, MAX_INPUTS, CrossedModel, Model, ModelFeature, Observation
from client_sdk.protocol.domain.nearest import MAX_COORDINATES, MAX_PROTOTYPES, Nearest
from client_sdk.protocol.domain.number import MAX_COUNT, Count, Number
from client_sdk.protocol.domain.ordinal_mean import OrdinalMean
from client_sdk.protocol.domain.set import Subset
from client_sdk.protocol.domain.text import BYTES, CELLS, CUT, MAX_LETTERS, MAX_TEXT_LENGTH, MAX_TEXTS, Text
from client_sdk.protocol.domain.vector import MAX_LENGTH, Vector

Domain = (
    Boolean
    | Category
    | Ordinal
    | OrdinalMean
    | Nearest
    | Number
    | Count
    | Activity
    | Subset
    | Cross
    | MeanByGroup
    | Vector
    | Text
    | Model
    | CrossedModel
    | Filled
)

__all__ = [
    "BYTES",
    "CELLS",
    "CUT",
    "LABEL",
    "MAX_CATEGORIES",
    "MAX_CELLS",
    "MAX_COORDINATES",
    "MAX_COUNT",
    "MAX_INPUTS",
    "MAX_LENGTH",
    "MAX_LETTERS",
    "MAX_PROTOTYPES",
    "MAX_TEXTS",
    "MAX_TEXT_LENGTH",
    "PERIODS",
    "Activity",
    "Boolean",
    "Category",
    "Count",
    "Cross",
    "Crossed",
    "CrossedModel",
    "Domain",
    "DomainError",
    "Filled",
    "Label",
    "MeanByGroup",
    "Model",
    "ModelFeature",
    "Nearest",
    "Number",
    "Observation",
    "Ordinal",
    "OrdinalMean",
    "Subset",
    "Text",
    "Vector",
]
