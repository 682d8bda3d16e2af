"""rollfilm films parallel robot simulations: every camera of N worlds in one batch, on a GPU or a plain CPU."""

__version__ = "0.1.0"
