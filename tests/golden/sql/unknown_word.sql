SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts PATTERN (a b+) DEFINE b AS symbol || 'x' = 'Ax')
