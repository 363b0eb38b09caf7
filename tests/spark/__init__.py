"""Tests of what runs on Spark."""

# A test starts a JVM that lives for seconds: most of its time would go into compiling what runs once.
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
