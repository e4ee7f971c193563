"""How fast the engine is, beside the npm package `@waku/sds` and beside what its parts cost alone."""
