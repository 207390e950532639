"""The warm engine: one server answers for all, over a private socket; when it goes, the next one takes over."""
