"""How a field is integrated, behind ``ndcn.integrate``: Runge-Kutta by fixed or adaptive steps, adjoint, stiff."""
