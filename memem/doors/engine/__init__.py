"""The warm engine: one server answers hooks and other servers over a private socket."""
