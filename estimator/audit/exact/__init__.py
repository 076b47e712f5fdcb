"""The exact audit: walks every path of coins through the installed SDK, and proves how much it reveals.

It proves what a report of one answer reveals, where the coins are what they should be. What it takes for granted: the
operating system's generator, and that without the secret a pseudo-random function looks random.
"""

from __future__ import annotations

from estimator.audit.exact.proof import ExactAudit, Proof
from estimator.audit.exact.prove import laws_walked, prove
from estimator.audit.exact.request import requests_of

__all__ = ["ExactAudit", "Proof", "laws_walked", "prove", "requests_of"]
