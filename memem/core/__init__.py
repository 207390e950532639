"""What every stage may use: values, errors, settings, paths, files, locks, projects, the clock."""
