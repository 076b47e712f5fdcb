"""The registry and the keys, which may change while the service runs."""
