"""Look after a memory home: status, doctor, curation, purge, settings, uninstall."""
