"""The conformance runner, which tests an SDK against the rules of the protocol.

A program drives the SDK.
"""
