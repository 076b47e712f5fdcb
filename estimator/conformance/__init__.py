"""The conformance runner: tests any SDK, driven by a program, against the rules of the protocol."""
