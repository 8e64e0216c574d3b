/* Laws dx_i/dt = f(x_i) + sum_j A_ij g(x_i, x_j) in C: their rates and derivatives, and trajectories of both.

   A plain shared library, called through ctypes: it knows neither Python nor torch. On x86 the loader picks the best instruction set that the
   machine has, so a library built elsewhere stays right. */

#include "law.h"
#include "law_program.h"
#include "law_rates.h"
#include "law_tape.h"
#include "law_splines.h"
#include "law_steps.h"
#include "law_adaptive.h"

/* Raised whenever an argument list changes: a library built from other sources is not used. */
EXPORT int ndcn_law_abi(void) { return 7; }
