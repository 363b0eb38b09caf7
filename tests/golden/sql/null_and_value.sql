SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY ts
  MEASURES LAST(price) AS top
  PATTERN (a b+) DEFINE b AS price IS NULL OR price > PREV(price))
