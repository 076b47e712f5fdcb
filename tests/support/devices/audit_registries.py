"""Registries for audits of devices: all kinds of question, the smallest, permanent answers."""

from __future__ import annotations

from client_sdk import Registry
from estimator.audit.run import chosen
from tests.support.devices.definitions import ACTIVITY, BOOLEAN, CATEGORY, NEAREST, NUMBER, registry_text

KINDS = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY,
        size=NUMBER,
        mood=CATEGORY | {"kind": "ordinal"},
        languages=CATEGORY | {"kind": "set", "max_items": 2},
        crashes={"purpose": "Why?", "kind": "count", "max": 9, "statistic": "mean", "epsilon": 1},
        used=ACTIVITY,
        topic=NEAREST,
        both={"purpose": "Why?", "cross": ["dark_mode", "os"], "epsilon": 1},
        load=NUMBER | {"mechanism": "gaussian", "delta": 1e-3, "epsilon": 2, "window": "week"},
    )
)
BOOLEAN_ONLY = chosen(KINDS, ("dark_mode",))
TWO = chosen(Registry.parse(registry_text(dark_mode=BOOLEAN, sound=BOOLEAN)), ())
PERMANENT = chosen(
    Registry.parse(
        registry_text(
            theme=CATEGORY | {"permanent_epsilon": 1},
            load=NUMBER | {"permanent_epsilon": 1},
        )
    ),
    (),
)
