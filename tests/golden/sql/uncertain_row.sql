SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts
  PATTERN (x a b* c)
  DEFINE a AS price > 10,
         c AS c.price > LAST(a.price))
