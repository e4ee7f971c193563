"""Pictures of the application for the README, taken of real nodes on a real broker: python -m tests.screenshots."""
