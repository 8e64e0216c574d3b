/* The functions of one instruction set, for float and for double. SET ends their names; BYTES is the size of a vector
   register. */

#define JOIN(f, type, set) ndcn_##f##_##type##_##set
#define JOINED(f, type, set) JOIN(f, type, set)

#define REAL float
#define NAME(f) JOINED(f, f32, SET)
#include "euler_rows.h"
#include "euler_steps.h"
#include "euler_error.h"
#include "euler_iteration.h"
#include "euler_end.h"

#define REAL double
#define NAME(f) JOINED(f, f64, SET)
#include "euler_rows.h"
#include "euler_steps.h"
#include "euler_error.h"
#include "euler_iteration.h"
#include "euler_end.h"

#undef JOIN
#undef JOINED
#undef SET
#undef BYTES
