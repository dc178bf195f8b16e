"""The database: tables, batches of rows, and the one process that may write them."""
