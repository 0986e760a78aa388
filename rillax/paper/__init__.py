"""The paper: its tables, its figures with their jobs and claims, and the report on them."""
