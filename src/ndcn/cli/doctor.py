"""``ndcn doctor``: the versions, the kernel and the number of threads in use."""

from __future__ import annotations

import platform

import typer

from .options import Json, print_json

KERNELS = {
    "compiled": "compiled",
    "torch": "torch (no compiled one was built: training takes about 4 times as long; install a C compiler, then ndcn again)",
}
# What is slower without compiled laws: docs/performance.md, Laws.
LAWS = {
    "compiled": "compiled",
    "torch": "torch (no compiled ones were built: finding and simulating laws takes several times as long; install a C compiler, then ndcn again)",
}


def doctor(as_json: Json = False) -> None:
    """Show the versions of ndcn, Python and torch, which compiled parts are in use and the number of threads.

    Example: ndcn doctor
    """
    import torch

    import ndcn

    from ..solve import kernel_in_use, law_kernel_in_use

    kernel = kernel_in_use()
    laws = law_kernel_in_use()
    about = {
        "ndcn": ndcn.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "kernel": kernel,
        "laws": laws,
        "threads": torch.get_num_threads(),
        "cuda": torch.cuda.is_available(),
        "system": platform.platform(),
    }
    if as_json:
        print_json(about)
        return
    words = {"kernel": KERNELS[kernel], "laws": LAWS[laws], "cuda": "yes" if about["cuda"] else "no"}
    for name, value in {**about, **words}.items():
        typer.echo(f"{name:8}{value}")
