"""The definition of a window as code: slow, obvious, what every other engine is tested against."""
