"""``ndcn doctor``: which versions are at work here, which kernel, and on how many threads."""

from __future__ import annotations

import platform

import typer

from .options import Json, print_json

KERNELS = {"compiled": "compiled", "torch": "torch (no compiled one was built for this machine)"}


def doctor(as_json: Json = False) -> None:
    """Show the versions of ndcn, Python and torch, the kernel in use and the number of threads.

    Example: ndcn doctor
    """
    import torch

    import ndcn

    from ..solve import kernel_in_use

    kernel = kernel_in_use()
    about = {
        "ndcn": ndcn.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "kernel": kernel,
        "threads": torch.get_num_threads(),
        "cuda": torch.cuda.is_available(),
        "system": platform.platform(),
    }
    if as_json:
        print_json(about)
        return
    for name, value in {**about, "kernel": KERNELS[kernel], "cuda": "yes" if about["cuda"] else "no"}.items():
        typer.echo(f"{name:8}{value}")
