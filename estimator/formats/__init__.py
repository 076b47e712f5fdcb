"""The report as data: written as JSON, CSV, Parquet or data frames, and read from JSON."""
