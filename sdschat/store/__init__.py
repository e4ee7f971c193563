"""One SQLite database a profile. Import from the modules: `store`, `reader`, `journal`, `errors`."""
