"""Benchmarks: `python -m bench NAME [options]`. Each module measures one promise and prints it as a table and JSON."""
