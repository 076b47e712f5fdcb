"""The report as one HTML file: `page` chooses, and templates with filters of `wording` format."""
