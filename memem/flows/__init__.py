"""Stages joined into what memem does. Flows return results; doors show them."""
