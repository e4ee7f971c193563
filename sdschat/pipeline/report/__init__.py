"""One self-contained HTML file: the verdict, pictures, figures, and where they come from."""
