"""The single checks of `memem doctor`."""
