"""Models learned from tallies, by products or by crosses, and predictions by these models."""
