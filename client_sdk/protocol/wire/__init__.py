"""The HTTP bodies exchanged by devices, relays, collectors and estimators, with strict parsers."""
