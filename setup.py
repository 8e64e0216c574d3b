"""Builds the compiled kernel where there is a compiler; without one ndcn runs on its torch kernel."""

import sys

from setuptools import Extension, setup

threads = ["-fopenmp"] if sys.platform == "linux" else []

setup(
    ext_modules=[
        Extension(
            "ndcn.solve.kernels._euler",
            sources=["src/ndcn/solve/kernels/euler.c"],
            depends=["src/ndcn/solve/kernels/euler_steps.h"],
            extra_compile_args=["-O3", "-fvisibility=hidden", "-Wno-psabi", *threads],
            extra_link_args=threads,
            optional=True,
        )
    ]
)
