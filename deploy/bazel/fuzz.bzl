"""Fuzz targets: one source file that defines LLVMFuzzerTestOneInput."""

def fuzz_test(name, srcs, deps, corpus = []):
    """A test that feeds a parser mutated inputs for a bounded time.

    With `--config=fuzz` libFuzzer drives it; otherwise a small driver replays
    the corpus and a fixed number of seeded mutations of it.

    Args:
      name: the target.
      srcs: the file with LLVMFuzzerTestOneInput.
      deps: what it needs.
      corpus: example inputs, one per file.
    """
    native.cc_test(
        name = name,
        size = "small",
        srcs = srcs + select({
            "//tests/fuzz:libfuzzer": [],
            "//conditions:default": ["//tests/fuzz:driver"],
        }),
        args = select({
            "//tests/fuzz:libfuzzer": ["-max_total_time=10", "-rss_limit_mb=2048"],
            "//conditions:default": [],
        }) + ["$(locations %s)" % label for label in corpus],
        data = corpus,
        linkopts = select({
            "//tests/fuzz:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = ["fuzz"],
        deps = deps,
    )
