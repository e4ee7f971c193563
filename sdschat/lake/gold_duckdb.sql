-- Written from gold.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE VIEW gold_log AS SELECT c.run_id, c.channel, l.position, l.lamport, l.message_id, l.sender, CASE WHEN l.deps = '' THEN TRY_CAST([] AS TEXT[]) ELSE STR_SPLIT_REGEX(l.deps, CHR(31)) END AS deps, l.digest, LPAD(LOWER(HEX(l.x1)), 16, '0') || LPAD(LOWER(HEX(l.x2)), 16, '0') AS running, l.copies, l.first_ms, l.last_ms FROM (SELECT chan, position, lamport, message_id, sender, deps, digest, copies, first_ms, last_ms, BIT_XOR(x1) OVER (PARTITION BY chan ORDER BY position NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS x1, BIT_XOR(x2) OVER (PARTITION BY chan ORDER BY position NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS x2 FROM log) AS l JOIN (SELECT DISTINCT chan, run_id, channel FROM presence) AS c ON c.chan = l.chan;

CREATE VIEW gold_channel AS SELECT run_id, channel, nodes, messages, converged, missing, excused, faults, checked_to, LPAD(LOWER(HEX(x1)), 16, '0') || LPAD(LOWER(HEX(x2)), 16, '0') AS running FROM audit_channel;

CREATE VIEW gold_journal AS SELECT run_id, node, boot, first_seq, last_seq, rows, last_seq - first_seq + 1 - rows AS lost, first_ms, last_ms FROM silver_journal;
