"""What reports tell: one analysis for each shape of answers, and the methods that they share."""
