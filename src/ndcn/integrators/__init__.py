"""How a field is integrated, behind :func:`ndcn.integrate`: Runge-Kutta by fixed or adaptive steps, adjoint, stiff."""
