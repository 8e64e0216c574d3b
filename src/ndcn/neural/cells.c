/* Recurrent cells of one layer, step after step, and their gradients.

   A plain shared library, called through ctypes: it knows neither Python nor torch. Gates are in torch's order: r, z, n of a
   GRU; i, f, g, o of an LSTM, whose state is h and then c. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int ndcn_cells_abi(void) { return 1; }

enum { RNN, GRU, LSTM };

#define JOIN(f, type) ndcn_cells_##f##_##type
#define JOINED(f, type) JOIN(f, type)

#define REAL float
#define TANH tanhf
#define EXP expf
#define NAME(f) JOINED(f, f32)
#include "cells_steps.h"
#undef REAL
#undef TANH
#undef EXP
#undef NAME

#define REAL double
#define TANH tanh
#define EXP exp
#define NAME(f) JOINED(f, f64)
#include "cells_steps.h"
