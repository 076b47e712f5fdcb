"""The bodies that devices, relays, collectors and estimators exchange, and their strict parsers."""
