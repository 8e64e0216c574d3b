"""Builds the compiled kernels where there is a compiler; without one ndcn runs on its torch kernels."""

import sys

from setuptools import Extension, setup

threads = ["-fopenmp"] if sys.platform == "linux" else []
kernels = "src/ndcn/solve/kernels"

setup(
    ext_modules=[
        Extension(
            "ndcn.solve.kernels._euler",
            sources=[f"{kernels}/euler.c"],
            depends=[f"{kernels}/euler_{part}.h" for part in ("sets", "rows", "steps", "error", "iteration", "end")],
            extra_compile_args=["-O3", "-g0", "-fvisibility=hidden", "-Wno-psabi", *threads],
            extra_link_args=threads,
            optional=True,
        ),
        Extension(
            "ndcn.solve.kernels._law",
            sources=[f"{kernels}/law.c"],
            depends=[
                f"{kernels}/law{part}.h"
                for part in ("", "_program", "_rates", "_splines", "_tape", "_steps", "_adaptive")
            ],
            # without these two, loops with choices or square roots are not vectorised; values stay as they are
            extra_compile_args=[
                "-O3",
                "-fno-math-errno",
                "-fno-trapping-math",
                "-fvisibility=hidden",
                "-Wno-psabi",
                *threads,
            ],
            extra_link_args=threads,
            optional=True,
        ),
        Extension(
            "ndcn.neural._cells",
            sources=["src/ndcn/neural/cells.c"],
            depends=["src/ndcn/neural/cells_steps.h"],
            extra_compile_args=["-O3", "-fvisibility=hidden"],
            optional=True,
        ),
    ]
)
