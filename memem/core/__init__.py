"""What every package may use: values, errors, settings, paths, files, locks, projects, the clock."""
