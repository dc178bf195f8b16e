"""HTTP: keys, schemas, routes and limits."""
