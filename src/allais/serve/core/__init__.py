"""The service without HTTP: experiments, decisions, people and values."""
