/* Two histories of one log, and a storage that shows less than before: docs/model.md.
 *
 * Eve's log has two histories: she lies, or her profile was put back. The storage shows Ann and Bob whatever it likes of
 * either, and of each other's commits, at any time. Ann may remove Eve. */

/* Rules of docs/protocol.md, "Order of checks", "Causal order", and "Forks and rollbacks". */
#ifndef NAMES_PREVIOUS  /* a commit names the hash of the one before it */
#define NAMES_PREVIOUS 1
#endif
#ifndef HEADS_HAVE_HASHES /* and of the commits of other logs that its author had applied, with their hashes */
#define HEADS_HAVE_HASHES 1
#endif
#ifndef CAUSAL_ORDER    /* it is applied after all of these */
#define CAUSAL_ORDER 1
#endif
#ifndef BOUNDS_HAVE_HASHES /* a bound is the hash of a commit, too */
#define BOUNDS_HAVE_HASHES 1
#endif
#ifndef KEEP_HEADS      /* a device keeps the last commit of each log that it applied */
#define KEEP_HEADS 1
#endif

/* Scope. */
#ifndef FORGED          /* commits of Eve, of both histories */
#define FORGED 4
#endif
#ifndef LENGTH          /* commits of one history */
#define LENGTH 3
#endif
#ifndef OWN             /* commits of Ann and of Bob, each */
#define OWN 2
#endif

#define ANN 0
#define BOB 1
#define other(d) (1 - d)

/* All commits that Eve has signed, from 1; a commit stands for its hash. */
typedef Forged { byte number; byte before };
Forged eve[FORGED + 1];
byte total;

typedef Commit {
    byte number; byte hash; /* the last of Eve's commits that its author had applied */
    byte seen               /* and of the other's */
};
Commit commit[2 * (OWN + 1)];

typedef Device {
    byte length;
    byte at[LENGTH + 1];  /* what it has applied of Eve's log */
    byte made;
    byte applied;         /* of the other's log */
    bit alarm;            /* two histories, or less than before, are named */
    bit informed;         /* it knows of the removal */
    byte had[LENGTH + 1]  /* ghost: what it has applied once */
};
Device device[2];

bit removed;
byte bound, bound_hash;

hidden byte c, i, n, p;
#define commit_of(d, number) commit[d * (OWN + 1) + number]

inline check() {
    for (p : 0 .. 1) {
        for (i : 1 .. LENGTH) {
            if
            :: i <= device[p].length ->
                /* 2. What a device applies of a log is one history. */
                assert(eve[device[p].at[i]].before == device[p].at[i - 1])
            :: else
            fi;
            /* 4. It loses nothing that it had applied, unless that is named. */
            assert(device[p].had[i] == 0 || device[p].at[i] == device[p].had[i] || device[p].alarm ||
                device[p].informed)
        }
        for (i : 1 .. OWN) {
            if
            :: i <= device[p].applied && !device[p].informed ->
                n = commit_of(other(p), i).number;
                /* 4. What it applied names no commit that it lacks. */
                assert(n <= device[p].length);
                /* 4. Nor one of another history, unless that is named. */
                assert(n == 0 || device[p].at[n] == commit_of(other(p), i).hash || device[p].alarm)
            :: else
            fi
        }
    }
    /* 2. Who knows of the removal has the same commits, or has named two histories. */
    if
    :: device[ANN].informed && device[BOB].informed && device[ANN].length == bound && device[BOB].length == bound ->
        assert(bound == 0 || device[ANN].at[bound] == device[BOB].at[bound] || device[BOB].alarm)
    :: else
    fi
}

inline forge(after) {
    if
    :: eve[after].number < LENGTH ->
        total++;
        eve[total].before = after;
        eve[total].number = eve[after].number + 1;
        printf("Eve signs commit %d: number %d after commit %d\n", total, eve[total].number, after)
    :: else
    fi
}

/* The storage shows a device a commit of Eve in the place of the next one. */
inline fetch(d, id) {
    if
    :: eve[id].number == device[d].length + 1 &&
        !(device[d].informed && (eve[id].number > bound ||
            BOUNDS_HAVE_HASHES && eve[id].number == bound && id != bound_hash)) ->
        if
        :: eve[id].before == device[d].at[device[d].length] || !NAMES_PREVIOUS ->
            device[d].length++;
            device[d].at[device[d].length] = id;
            device[d].had[device[d].length] = id;
            printf("%d applies commit %d of Eve\n", d, id)
        :: else ->
            device[d].alarm = 1;
            printf("%d names two histories of Eve's log\n", d)
        fi;
        check()
    :: else
    fi
}

/* The storage shows less of Eve's log than a device has applied. */
inline show_less(d) {
    if
    :: KEEP_HEADS -> device[d].alarm = 1
    :: else -> device[d].at[device[d].length] = 0; device[d].length--
    fi;
    printf("the storage shows %d less\n", d);
    check()
}

inline write(d) {
    device[d].made++;
    commit_of(d, device[d].made).number = device[d].length;
    commit_of(d, device[d].made).hash = device[d].at[device[d].length];
    commit_of(d, device[d].made).seen = device[d].applied;
    printf("%d makes commit %d after commit %d of Eve\n", d, device[d].made, device[d].at[device[d].length]);
    check()
}

inline apply(d) {
    n = device[d].applied + 1;
    c = commit_of(other(d), n).number;
    if
    :: (!CAUSAL_ORDER || device[d].length >= c || device[d].informed) &&
        commit_of(other(d), n).seen <= device[d].made ->
        if
        :: HEADS_HAVE_HASHES && c > 0 && c <= device[d].length && device[d].at[c] != commit_of(other(d), n).hash ->
            device[d].alarm = 1
        :: else
        fi;
        device[d].applied++;
        printf("%d applies commit %d of %d\n", d, n, other(d));
        check()
    :: else
    fi
}

inline learn(d) {
    device[d].informed = 1;
    n = bound;
    if
    :: BOUNDS_HAVE_HASHES && bound > 0 && device[d].length >= bound && device[d].at[bound] != bound_hash -> n = bound - 1
    :: else
    fi;
    for (i : 1 .. LENGTH) {
        if :: i > n && i <= device[d].length -> device[d].at[i] = 0 :: else fi
    }
    device[d].length = (device[d].length > n -> n : device[d].length);
    printf("%d learns of the removal, and keeps %d commits of Eve\n", d, device[d].length);
    check()
}

proctype Member(byte me) {
    do
    :: d_step { total > 0 -> fetch(me, 1) }
    :: d_step { total > 1 -> fetch(me, 2) }
    :: d_step { total > 2 -> fetch(me, 3) }
    :: d_step { total > 3 -> fetch(me, 4) }
    :: d_step { device[me].length > 0 && !device[me].informed && !device[me].alarm -> show_less(me) }
    :: d_step { device[me].made < OWN -> write(me) }
    :: d_step { device[me].applied < device[other(me)].made -> apply(me) }
    :: d_step { removed && !device[me].informed -> learn(me) }
    :: d_step { me == ANN && !removed && !device[me].alarm ->
        removed = 1;
        bound = device[ANN].length;
        bound_hash = device[ANN].at[bound];
        printf("Ann removes Eve, with bound %d: commit %d\n", bound, bound_hash);
        learn(ANN) }
    od
}

proctype Eve() {
    do
    :: d_step { total < FORGED -> forge(0) }
    :: d_step { total < FORGED && total > 0 -> forge(1) }
    :: d_step { total < FORGED && total > 1 -> forge(2) }
    :: d_step { total < FORGED && total > 2 -> forge(3) }
    od
}

init {
    atomic {
        run Member(ANN);
        run Member(BOB);
        run Eve()
    }
}
