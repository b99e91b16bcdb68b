"""Fuzz targets: one source file that defines LLVMFuzzerTestOneInput."""

def fuzz_test(name, srcs, deps, corpus = [], effort = 1):
    """A test that feeds a parser mutated inputs for a bounded time.

    With `--config=asan` libFuzzer drives it; otherwise a small driver replays
    the corpus and a fixed number of seeded mutations of it.

    Args:
      name: the target.
      srcs: the file with LLVMFuzzerTestOneInput.
      deps: what it needs.
      corpus: labels of example inputs, one input per file; a label may stand
        for a folder that a rule fills.
      effort: how many times as long as other targets it goes on, for one that
        has several parsers.
    """
    seeds = name + "_seeds"

    # libFuzzer only replays files that are named alone; it takes a list of
    # seeds as a file of comma-separated paths.
    native.genrule(
        name = seeds,
        testonly = True,
        srcs = corpus,
        outs = [seeds + ".txt"],
        # Paths as the test sees them, without Bazel's output folder.
        cmd = "for s in $(SRCS); do find -L \"$$s\" -type f; done | sort" +
              " | sed 's,^$(BINDIR)/,,' | paste -sd, | tr -d '\\n' > $@",
    )
    native.cc_test(
        name = name,
        size = "small" if effort == 1 else "medium",
        srcs = srcs + select({
            "//tests/fuzz:libfuzzer": [],
            "//conditions:default": ["//tests/fuzz:driver"],
        }),
        args = select({
            "//tests/fuzz:libfuzzer": [
                "-max_total_time=%d" % (5 * effort),
                "-rss_limit_mb=2048",
            ] + (["-seed_inputs=@$(location %s)" % seeds] if corpus else []),
            "//conditions:default": [str(effort)] + ["$(rootpaths %s)" % label for label in corpus],
        }),
        data = corpus + [seeds],
        linkopts = select({
            "//tests/fuzz:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = ["fuzz"],
        deps = deps,
    )
