"""Models learned from tallies, which predict a label from features, and their predictions."""
