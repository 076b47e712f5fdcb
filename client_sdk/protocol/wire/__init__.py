"""The bodies that devices, relays, collectors and estimators exchange, with strict parsers."""
