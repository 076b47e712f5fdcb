"""The decoders of the mechanisms, which invert their laws.

Each has a file, as in ``client_sdk.protocol.mechanisms``, and a row in `inversions`.
"""
