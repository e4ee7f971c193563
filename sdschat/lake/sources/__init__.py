"""The sources of rows: profile databases, exported journals, recorded packets."""
