#include "CCofferSystem.h"

static _Thread_local uint64_t held_lock_ranks;

uint64_t coffer_held_lock_ranks(void) { return held_lock_ranks; }

void coffer_set_held_lock_ranks(uint64_t ranks) { held_lock_ranks = ranks; }
