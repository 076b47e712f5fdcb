"""An audit: plays the installed SDK as a black box and proves how much it reveals at least, beside what it claims.

It can refute a claim, never confirm one; it says which excess over the claim it would have seen. What perturbs an
answer can be proved instead: `estimator.audit.exact`.
"""

from __future__ import annotations

from estimator.audit.run import Audit, Finding, audit, default_reports

__all__ = ["Audit", "Finding", "audit", "default_reports"]
