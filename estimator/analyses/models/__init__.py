"""Models that are learned from tallies and predict a label from features, and their predictions."""
