"""The commands of hearsay-client that need no device: those about a registry, and completion.

Imports the vocabulary only; `client_sdk.cli` imports it. Each module turns arguments into an `Outcome`.
"""
