"""The conformance runner, which tests an SDK's program with vectors and a scripted collector."""
