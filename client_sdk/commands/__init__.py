"""The commands of hearsay-client about a registry: they need the file, and no device.

Imports the vocabulary only; `client_sdk.cli` imports it. Each module turns arguments into an `Outcome`.
"""
