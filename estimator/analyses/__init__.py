"""The analysis of reports: one class for each shape of answers, such as labels or numbers."""
