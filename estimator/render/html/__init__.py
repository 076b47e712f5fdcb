"""The report as one HTML file: figures become plain data (``page``), and a template and charts show it."""

from estimator.render.html.document import as_html

__all__ = ["as_html"]
