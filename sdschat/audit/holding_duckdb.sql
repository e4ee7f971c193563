-- Written from holding.sql by `python -m tests.audit.transpile`: change that file, not this one.

CREATE TABLE holding AS SELECT c.member, COUNT(*) AS messages, MAX(c.lamport) AS lamport, MIN(c.received_ms) AS first_ms, MAX(c.received_ms) AS last_ms, SUM(CASE WHEN NOT c.damage IS NULL OR (c.lamport > c.received_ms + r.max_skew AND c.own = 0) THEN 1 ELSE 0 END) AS odd FROM copy AS c CROSS JOIN rule AS r GROUP BY c.member;

CREATE TABLE doubtful AS SELECT member FROM holding WHERE odd > 0;
