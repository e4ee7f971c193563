"""The replay of a recording in the chat: play, step forward, step back."""
