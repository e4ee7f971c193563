-- What each node has in all, in Spark's dialect: one look at all copies, for several answers of views.sql.

-- How many messages has each node, of which Lamport times and when received, and how many of them are altered, or of
-- others and taken before their time?
CREATE TABLE holding AS
SELECT c.member, COUNT(*) AS messages, MAX(c.lamport) AS lamport, MIN(c.received_ms) AS first_ms,
  MAX(c.received_ms) AS last_ms,
  SUM(CASE WHEN c.damage IS NOT NULL OR (c.lamport > c.received_ms + r.max_skew AND c.own = 0) THEN 1 ELSE 0 END) AS odd
FROM copy AS c
CROSS JOIN rule AS r
GROUP BY c.member;

-- Which nodes have any of these?
CREATE TABLE doubtful AS
SELECT member
FROM holding
WHERE odd > 0;
