"""Shared by every package: values, errors, settings, paths, files, locks, projects, the clock."""
