SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts
  PATTERN (a b* c)
  DEFINE a AS price > 10,
         b AS price < 20 AND SUM(b.price) < 100)
