"""The names of the MCP tools that only read: the hook that allows them unasked need not know the server."""

READING = frozenset(
    (
        "active_memory_slice",
        "context_assemble",
        "memory_get",
        "memory_graph_audit",
        "memory_graph_neighbors",
        "memory_list",
        "memory_recall",
        "memory_search",
        "memory_timeline",
        "transcript_search",
    )
)
