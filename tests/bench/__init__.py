"""Speed of the engine, beside the npm package `@waku/sds` and beside the cost of its parts alone."""
