"""The decoders of the mechanisms. A decoder estimates answers from the symbols of reports.

Each mechanism has a module in this package, as in ``client_sdk.protocol.mechanisms``, and a row in
the table of the module `inversions`.
"""
