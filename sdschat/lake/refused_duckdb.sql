-- Written from refused.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE VIEW refused AS SELECT b.* FROM quarantined AS b WHERE NOT EXISTS(SELECT 1 FROM whole AS g WHERE g.run_id = b.run_id AND g.read_ms > b.read_ms AND ((g.source = b.source AND (g.node = COALESCE(b.node, '') OR COALESCE(b.node, '') = '')) OR (g.node = COALESCE(b.node, '') AND COALESCE(b.node, '') <> '' AND g.as_of >= b.as_of)));
