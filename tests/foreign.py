"""Files of other programs: any JSON, and a claude-mem database."""

from hypothesis import strategies as st

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)

CLAUDE_MEM = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
  title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
  merged_into_project TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,
  learned TEXT, completed TEXT, files_edited TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, project TEXT, content TEXT, status TEXT, created_at TEXT);
INSERT INTO sdk_sessions VALUES (1, 'claude-1', 'memory-1', 'zoo');
INSERT INTO observations VALUES (7, 'memory-1', 'The Zoo', NULL, 'bugfix', 'Pump', '', '["It ran dry", "It ran dry"]',
  'The pump stopped.', '["pump", 3]', '[]', '["src/pump.py"]', NULL, '2025-03-01T10:00:00Z', 1);
INSERT INTO observations VALUES (8, 'memory-2', 'zoo', 'A gate was added.', 'feature', NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, 'park', NULL, 1740823200000);
INSERT INTO session_summaries VALUES (1, 'memory-1', 'zoo', 'Mend the pump', 'It needs water.', 'done', 'a.py, b.py',
  NULL, NULL);
INSERT INTO session_summaries VALUES (2, 'memory-1', 'zoo', 'Look', '', '', '', NULL, NULL);
INSERT INTO directives VALUES (1, 'global', NULL, 'Never feed by hand.', 'active', NULL);
"""
