"""Running specs: data in, windows out."""
