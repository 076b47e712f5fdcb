"""The decoders of the mechanisms. A decoder estimates answers from the symbols of reports.

Each mechanism of ``client_sdk.protocol.mechanisms`` is decoded by a module of this package. The
table in the module `inversions` lists the functions for each mechanism.
"""
