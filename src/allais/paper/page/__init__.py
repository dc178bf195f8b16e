"""The parts of the report: what each says about results, in HTML or in words."""
