"""The report, one self-contained HTML file: the verdict, pictures, figures, and their sources."""
