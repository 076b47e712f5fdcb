"""The conformance runner: plays vectors and a scripted collector against an SDK's program."""
