"""Conversion of reports to JSON, CSV, Parquet and data frames, and a reader of JSON reports."""
