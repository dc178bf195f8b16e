"""What all K-armed policies share: settings, state, verbs and steps."""
