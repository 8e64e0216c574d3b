"""Hand-derived fast paths behind ``ndcn.integrate``, each tested against the plain Runge-Kutta loop.

``euler.py`` decides where the fast path applies and ties it to autograd; ``euler_torch.py`` and ``euler_compiled.py`` are
the same functions, in torch and in C (``euler.c`` and its headers). ``euler_loss.py`` computes the loss of a trajectory and all
its gradients at once; ``euler_iteration.py`` does that in one call of the library.

``law_compiled.py`` has rates, derivatives and trajectories of laws in C (``law.c`` and its headers); their twins in torch are the laws
themselves.
"""
