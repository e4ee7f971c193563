"""From what many nodes logged to one canonical log, a verdict, figures and simulations. Importing this imports nothing:
Spark, pyarrow and numpy come with the modules that need them."""
