"""Builds the compiled kernel where there is a compiler; without one ndcn runs on its torch kernel."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "ndcn.kernels._euler",
            sources=["src/ndcn/kernels/euler.c"],
            depends=["src/ndcn/kernels/euler_steps.h"],
            extra_compile_args=["-O3", "-fvisibility=hidden", "-Wno-psabi"],
            optional=True,
        )
    ]
)
