#define _GNU_SOURCE
#include "CCofferSystem.h"
#include <pthread.h>
#include <sys/prctl.h>

void coffer_name_thread(unsigned long thread, const char *name) { pthread_setname_np(thread, name); }

void coffer_name_process(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

static _Thread_local uint64_t held_lock_ranks;

uint64_t coffer_held_lock_ranks(void) { return held_lock_ranks; }

void coffer_set_held_lock_ranks(uint64_t ranks) { held_lock_ranks = ranks; }

static _Thread_local int leaves_waiting;

int coffer_leaves_waiting(void) { return leaves_waiting; }

void coffer_set_leaves_waiting(int value) { leaves_waiting = value; }
