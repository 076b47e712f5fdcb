"""The conformance runner, which tests an SDK against the rules of the protocol.

The runner starts a program that drives the SDK.
"""
