"""The service: many experiments, many clients, one memory of the world, and each person's own preference.

`allais serve` starts it. Nothing of it is imported by `import allais`.
"""
