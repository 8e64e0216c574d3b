"""Hand-derived fast paths behind ``ndcn.integrate``, each tested against the plain Runge-Kutta loop.

``euler.py`` decides where the fast path applies and ties it to autograd; ``euler_torch.py`` and ``euler_compiled.py`` are
the same two functions, in torch and in C (``euler.c``, ``euler_steps.h``).

``law_compiled.py`` has rates, derivatives and trajectories of laws in C (``law.c`` and its headers); their twins in torch are the laws
themselves.
"""
