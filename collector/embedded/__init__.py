"""The embedded store, a Valkey server that a collector starts for itself in a data directory."""
