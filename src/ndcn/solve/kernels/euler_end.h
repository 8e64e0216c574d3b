/* Forgets what euler_rows.h and euler_sets.h defined for one floating type. */

#undef WIDE
#undef TAIL
#undef LANES
#undef PARTS
#undef VEC
#undef END
#undef ROW
#undef EACH
#undef PICK
#undef FOR_BLOCKS
#undef AT
#undef TAIL_AT
#undef REAL
#undef NAME
