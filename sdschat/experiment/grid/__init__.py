"""Figures of simulated groups: settings times seeds, on the production engine or on the vectorised model of it."""
