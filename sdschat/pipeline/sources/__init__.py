"""The sources of rows: profile databases, exported journals, recorded packets.

They are read by plain Python, so that the comparison without Spark and Spark's readers give the same rows.
"""
