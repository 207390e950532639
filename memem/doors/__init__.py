"""The ways in: Python, the command line. Only doors print, parse arguments or speak a protocol."""
