"""The analysis of reports: one class for each shape of answers, and the methods they share."""
