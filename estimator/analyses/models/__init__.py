"""Models that predict a label from features: learning from tallies, and predictions."""
