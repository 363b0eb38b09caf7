SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts
  PATTERN (a b)
  DEFINE a AS price > NEXT(price))
