"""What can be wrong with tallies, answers and audits, said for the analyst."""

from __future__ import annotations

from client_sdk.protocol import HearsayError


class TalliesError(HearsayError):
    """Tallies that cannot be had or cannot be read; the message says which, where and what to do."""


class CollectorDownError(TalliesError):
    """A collector that does not answer now, or answers that it cannot; later it may."""


class AnswersError(HearsayError):
    """Answers for a rehearsal that cannot be had or cannot be read; the message says which, where and what to do."""


class UnfitTallyError(HearsayError):
    """A tally that does not belong to what it is estimated as; the message says why, and what would help."""


class ReportError(HearsayError):
    """A report's JSON that cannot be read; the message says where it is wrong and what to do."""


class MissingLibraryError(HearsayError, ImportError):
    """A library that a form of the report needs is not installed; the message has the line that installs it."""


class OutputError(HearsayError):
    """A file or folder that cannot be written; the message says which, why and what to do."""


class BusyError(HearsayError):
    """Another run is at work where this one would be; it has nothing to do."""


class AuditError(HearsayError):
    """An audit that could not be carried out; it says nothing about the SDK."""


class PlanError(HearsayError):
    """A plan that cannot be made; the message says why and what to do."""
