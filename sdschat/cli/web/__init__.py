"""The chat in browsers: the server behind `sdschat serve`."""
