"""Known answers through the real mechanisms: truth beside estimate."""
