"""The Valkey server that the collector starts for itself on a data directory."""
