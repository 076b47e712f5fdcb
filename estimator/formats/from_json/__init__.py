"""A report's JSON, read strictly: values, figures, and what one tally tells."""
