"""The conformance runner: plays the vectors, and a scripted collector, against any SDK's program."""
