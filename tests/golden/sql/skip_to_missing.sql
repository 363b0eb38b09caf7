SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts
  AFTER MATCH SKIP TO LAST b
  PATTERN (a b* c+)
  DEFINE b AS price > PREV(price), c AS price < PREV(price))
