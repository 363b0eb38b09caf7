SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts PATTERN (a b) DEFINE b AS price > 10) AS m
WHERE m.price > 3
