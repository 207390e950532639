"""Recognise text that speaks to the model instead of recording a fact."""
