"""The definitions and keys that are served, and how they change while the service runs."""
