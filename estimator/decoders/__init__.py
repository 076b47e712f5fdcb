"""The decoders of the mechanisms. A decoder estimates answers from the symbols of reports.

Each mechanism has a module here, as in ``client_sdk.protocol.mechanisms``, and a row in
`inversions`.
"""
