"""The report as data: JSON, CSV, Parquet and data frames, written and read."""
