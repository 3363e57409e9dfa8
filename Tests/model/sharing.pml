/* Members, keys and commits of a shared vault: docs/model.md.
 *
 * The storage creates names exclusively, and otherwise delivers what it likes, when it likes, to whom it likes. Each
 * rule of the protocol is a macro that the command line can set to 0; SCOPE macros say what may happen. */

/* Rules of docs/trust.md and docs/protocol.md. */
#ifndef ROTATE_ON_REMOVAL   /* RemoveMember begins the next epoch */
#define ROTATE_ON_REMOVAL 1
#endif
#ifndef NEW_KEY_SEALS_OLD   /* an epoch's key seals the one before it, not the one after it */
#define NEW_KEY_SEALS_OLD 1
#endif
#ifndef ROTATION_OWED       /* Leave owes a rotation */
#define ROTATION_OWED 1
#endif
#ifndef WRAPS_ANEW          /* a link that lost its place is made again with another key and other wraps */
#define WRAPS_ANEW 1
#endif
#ifndef BOUNDS_ANEW         /* a link that lost its place is made again with present bounds */
#define BOUNDS_ANEW 1
#endif
#ifndef LINKS_VERIFIED      /* every reader checks the right of a link's signer */
#define LINKS_VERIFIED 1
#endif
#ifndef SEAL_UNDER_HEAD     /* a commit is sealed under the epoch of the link that it names */
#define SEAL_UNDER_HEAD 1
#endif
#ifndef RIGHT_AT_HEAD       /* the author's right is looked up at the link that the commit names */
#define RIGHT_AT_HEAD 1
#endif
#ifndef REMOVAL_BOUNDS      /* RemoveMember bounds the logs of its member */
#define REMOVAL_BOUNDS 1
#endif
#ifndef DEMOTION_BOUNDS     /* ChangeRole that ends the right to write bounds them, too */
#define DEMOTION_BOUNDS 1
#endif
#ifndef LEAVE_ANSWERED      /* another member bounds one who has left */
#define LEAVE_ANSWERED 1
#endif
#ifndef ADD_AFTER_BOUND     /* one who has left is added again only after that */
#define ADD_AFTER_BOUND 1
#endif
#ifndef FRESH_PULL          /* all commits at the remote are applied before bounds are stated */
#define FRESH_PULL 1
#endif
#ifndef TAKE_BACK           /* commits behind a bound are taken back where they were applied */
#define TAKE_BACK 1
#endif
#ifndef ENDED_LOGS_COUNT_SHORT /* nobody waits for commits behind the end of a log */
#define ENDED_LOGS_COUNT_SHORT 1
#endif
#ifndef SET_ASIDE           /* an author keeps its commits that were taken back, and is told */
#define SET_ASIDE 1
#endif
#ifndef SEND_BEFORE_LEAVING /* a device puts its commits before it leaves */
#define SEND_BEFORE_LEAVING 1
#endif
#ifndef NEW_LOG             /* and goes on in another log */
#define NEW_LOG 1
#endif

/* Scope. */
#ifndef LINKS               /* links, link 0 included */
#define LINKS 4
#endif
#ifndef WRITES              /* commits of all people */
#define WRITES 4
#endif
#ifndef SIZE                /* commits of a log */
#define SIZE 2
#endif
#ifndef ROLE_CAROL
#define ROLE_CAROL WRITER
#endif
#ifndef ADDED_AS            /* the role in which Carol is added again */
#define ADDED_AS WRITER
#endif
#ifndef MALICE              /* Carol obeys no rule */
#define MALICE 0
#endif
#ifndef REMOVE_BOB
#define REMOVE_BOB 0
#endif
#ifndef REMOVE_CAROL
#define REMOVE_CAROL 0
#endif
#ifndef ADD_CAROL
#define ADD_CAROL 0
#endif
#ifndef ROLES
#define ROLES 0
#endif
#ifndef LEAVER              /* who may leave; 9 for nobody */
#define LEAVER 9
#endif
#ifndef AWAY                /* who never does anything; 9 for nobody */
#define AWAY 9
#endif

#define PEOPLE 3
#define ANN 0
#define BOB 1
#define CAROL 2
/* One log each, and a second one of Carol. */
#define LOGS 4
#define owner(log) (log == 3 -> CAROL : log)
#define place(log) (log == 3 -> 1 : 0)

#define NONE 0
#define READER 1
#define WRITER 2
#define ADMIN 3
#define OWNER 4

#define CREATE 0
#define REMOVE 1
#define LEAVE 2
#define ADD 3
#define DEMOTE 4
#define PROMOTE 5
#define ROTATE 6
#define NOTHING 7

#define bit_of(person) (1 << (person))
#define mayBegin(person) (device[person].op == NOTHING && total < LINKS && \
    link[device[person].links - 1].role[person] != NONE)
#define mayForge(named) (named < total && made[CAROL] < SIZE && writes < WRITES)
#define honest(person) (!(MALICE && person == CAROL) && person != AWAY)

/* A link, with the state of the members after it. */
typedef Link {
    byte op;
    byte subject;
    byte bound[2];   /* of each log of the subject: the last commit that counts */
    bit bounds;      /* whether it bounds them */
    byte epoch;
    byte wraps;      /* people for whom its set has a wrap of the epoch's key */
    byte role[PEOPLE];
    byte was[PEOPLE];
    byte left;       /* people who have left, and whom nobody has bounded */
    bit owed
};
Link link[LINKS];
byte total;

typedef Commit {
    byte head;       /* the link that it names */
    byte epoch;
    byte seen[LOGS]; /* the commits that it names */
    byte late;       /* the last link when it was made, if its author had no right to write any more */
    bit aside        /* its author was told that it does not count, and keeps the contents */
};
Commit commit[LOGS * SIZE];
byte made[LOGS];
byte stored[LOGS];
byte writes;

typedef Device {
    byte links;      /* how many it knows */
    byte epoch;      /* the newest key that it has opened */
    byte log;
    byte applied[LOGS];
    /* A link that is made and not put yet. */
    byte op;
    byte subject;
    byte at;
    byte wraps;
    byte bound[2];
    byte before[2]   /* the commits of the subject that were at the remote when it began */
};
Device device[PEOPLE];

/* Scratch: no part of the state. */
hidden byte c, h, a, v, l, s, k, g, i, p, q, r, n, ok, known, need, all;
hidden byte ends[LOGS];
hidden byte rest[PEOPLE];

#define WAITS 0
#define COUNTS 1
#define REFUSED 2

/* The checks of a commit that do not depend on other logs (docs/protocol.md, "Order of checks"); sets v. */
inline judge(d, log, sequence) {
    c = (log) * SIZE + (sequence) - 1;
    h = commit[c].head;
    a = owner(log);
    v = COUNTS;
    if
    :: device[d].epoch < commit[c].epoch || h >= device[d].links -> v = WAITS
    :: else ->
        if
        :: RIGHT_AT_HEAD -> ok = link[h].role[a] >= WRITER
        :: else -> ok = link[device[d].links - 1].role[a] >= WRITER
        fi;
        if
        :: !ok || commit[c].epoch != link[h].epoch -> v = REFUSED
        :: else
        fi;
        for (l : 1 .. LINKS - 1) {
            if
            :: l > h && l < device[d].links && link[l].bounds && link[l].subject == a &&
                (sequence) > link[l].bound[place(log)] -> v = REFUSED
            :: else
            fi
        }
    fi
}

/* Which logs have ended for a device: their next commits are refused. */
inline find_ends(d) {
    for (k : 0 .. LOGS - 1) {
        ends[k] = 0;
        if
        :: device[d].applied[k] < made[k] ->
            judge(d, k, device[d].applied[k] + 1);
            ends[k] = v == REFUSED
        :: else
        fi
    }
}

/* Whether a device can apply the next commit of a log, once the ended ones are known; sets ok. */
inline look_at(d, log) {
    all = 0;
    if
    :: owner(log) != d && device[d].applied[log] < stored[log] ->
        judge(d, log, device[d].applied[log] + 1);
        all = v == COUNTS;
        c = (log) * SIZE + device[d].applied[log];
        for (k : 0 .. LOGS - 1) {
            if
            :: k != (log) && commit[c].seen[k] > device[d].applied[k] && !(ENDED_LOGS_COUNT_SHORT && ends[k]) ->
                all = 0
            :: else
            fi
        }
    :: else
    fi;
    ok = all
}

inline look(d, log) {
    find_ends(d);
    look_at(d, log)
}

/* Whether a person can open the key of an epoch, with all that is at the remote; sets known. */
inline knows(person, number) {
    known = 0;
    for (l : 0 .. LINKS - 1) {
        if
        :: l < total && (link[l].wraps & bit_of(person)) && (link[l].epoch >= (number) || !NEW_KEY_SEALS_OLD) ->
            known = 1
        :: else
        fi
    }
}

/* Whether a device has nothing left to do; sets rest of it. */
inline come_to_rest(d) {
    rest[d] = device[d].links == total && device[d].op == NOTHING;
    if
    :: device[d].applied[device[d].log] == made[device[d].log] && stored[device[d].log] < made[device[d].log] ->
        rest[d] = 0
    :: else
    fi;
    if
    :: rest[d] && link[total - 1].role[d] != NONE ->
        /* It has opened its wrap. */
        if
        :: device[d].epoch < link[total - 1].epoch -> knows(d, link[total - 1].epoch); rest[d] = !known
        :: else
        fi;
        if
        :: rest[d] ->
            find_ends(d);
            for (g : 0 .. LOGS - 1) {
                look_at(d, g);
                if
                :: ok -> rest[d] = 0
                :: else
                fi
            }
        :: else
        fi
    :: else
    fi
}

/* The invariants, after each step. */
inline check() {
    n = total - 1;
    /* 1. Who was removed cannot open the present key. */
    for (p : 0 .. PEOPLE - 1) {
        if
        :: link[n].role[p] == NONE && !(link[n].left & bit_of(p)) && !link[n].owed ->
            knows(p, link[n].epoch);
            assert(!known)
        :: else
        fi
    }
    for (p : 0 .. PEOPLE - 1) { rest[p] = 0; if :: honest(p) -> come_to_rest(p) :: else fi }
    for (p : 0 .. PEOPLE - 1) {
        for (q : 0 .. PEOPLE - 1) {
            if
            :: rest[p] && link[n].role[p] != NONE ->
                /* 1. Nor can who has left, once an entitled device has nothing left to do. */
                if
                :: link[n].role[q] == NONE && link[n].role[p] >= ADMIN && !(link[n].owed && ROTATION_OWED) &&
                    !((link[n].left & bit_of(q)) && (link[n].role[p] == OWNER || link[n].was[q] < OWNER)) ->
                    knows(q, link[n].epoch);
                    assert(!known)
                :: else
                fi;
                for (g : 0 .. LOGS - 1) {
                    /* 2. Members that have all commits accept the same ones. */
                    if
                    :: rest[q] && link[n].role[q] != NONE -> assert(device[p].applied[g] == device[q].applied[g])
                    :: else
                    fi;
                    /* 3. What an author made counts, or the author was told, and keeps it. */
                    if
                    :: rest[q] && owner(g) == q ->
                        for (s : 1 .. SIZE) {
                            if
                            :: s <= made[g] && s > device[p].applied[g] -> assert(commit[g * SIZE + s - 1].aside)
                            :: else
                            fi
                        }
                    :: else
                    fi
                }
            :: else
            fi
        }
        /* 2. Nothing counts that was made after its author's right had ended, where that is known. */
        for (g : 0 .. LOGS - 1) {
            for (s : 1 .. SIZE) {
                if
                :: honest(p) && owner(g) != p && s <= device[p].applied[g] && commit[g * SIZE + s - 1].late ->
                    assert(device[p].links <= commit[g * SIZE + s - 1].late)
                :: else
                fi
            }
        }
    }
}

/* Appends a link to the chain at the remote. */
inline append(operation, person, keys, bound0, bound1) {
    link[total].op = operation;
    link[total].subject = person;
    for (i : 0 .. PEOPLE - 1) {
        link[total].role[i] = link[total - 1].role[i];
        link[total].was[i] = link[total - 1].was[i]
    }
    link[total].left = link[total - 1].left;
    link[total].owed = link[total - 1].owed;
    link[total].epoch = link[total - 1].epoch;
    link[total].wraps = keys;
    link[total].bound[0] = bound0;
    link[total].bound[1] = bound1;
    if
    :: operation == REMOVE ->
        link[total].role[person] = NONE;
        link[total].left = link[total].left & ~bit_of(person);
        link[total].bounds = REMOVAL_BOUNDS;
        if
        :: ROTATE_ON_REMOVAL -> link[total].epoch = link[total].epoch + 1; link[total].owed = 0
        :: else
        fi
    :: operation == LEAVE ->
        link[total].role[person] = NONE;
        if
        :: LEAVE_ANSWERED -> link[total].left = link[total].left | bit_of(person)
        :: else
        fi;
        link[total].bounds = 1;
        link[total].owed = ROTATION_OWED
    :: operation == ADD ->
        link[total].role[person] = ADDED_AS;
        link[total].was[person] = ADDED_AS;
        link[total].left = link[total].left & ~bit_of(person)
    :: operation == DEMOTE -> link[total].role[person] = READER; link[total].bounds = DEMOTION_BOUNDS
    :: operation == PROMOTE -> link[total].role[person] = WRITER
    :: operation == ROTATE -> link[total].epoch = link[total].epoch + 1; link[total].owed = 0
    fi;
    total++
}

/* Whether a device may make a link, as far as it knows the members; sets ok. */
inline entitled(d, operation, person) {
    n = device[d].links - 1;
    r = link[n].role[d];
    k = link[n].role[person];
    if
    :: k == NONE && (link[n].left & bit_of(person)) -> k = link[n].was[person]
    :: else
    fi;
    if
    :: operation == REMOVE -> ok = d != person && k != NONE && (r == OWNER || r == ADMIN && k < OWNER)
    :: operation == LEAVE -> ok = d == person && r != NONE
    :: operation == ADD ->
        ok = r >= ADMIN && link[n].role[person] == NONE && !(ADD_AFTER_BOUND && (link[n].left & bit_of(person)))
    :: operation == DEMOTE -> ok = r >= ADMIN && link[n].role[person] == WRITER
    :: operation == PROMOTE -> ok = r >= ADMIN && link[n].role[person] == READER
    :: operation == ROTATE -> ok = r >= ADMIN && link[n].owed
    fi
}

/* The wraps of a link: for whom it must have some. */
inline wrapped(d, operation, person) {
    n = device[d].links - 1;
    q = 0;
    if
    :: operation == ADD -> q = bit_of(person)
    :: operation == REMOVE && ROTATE_ON_REMOVAL || operation == ROTATE ->
        for (i : 0 .. PEOPLE - 1) {
            if
            :: link[n].role[i] != NONE && !(operation == REMOVE && i == person) -> q = q | bit_of(i)
            :: else
            fi
        }
    :: else
    fi
}

/* A device makes a link, after a fresh pull. */
inline begin(d, operation, person) {
    if
    :: device[d].op == NOTHING && total < LINKS && person < PEOPLE ->
        entitled(d, operation, person);
        if
        :: ok && device[d].epoch == link[device[d].links - 1].epoch ->
            need = !(operation == LEAVE && SEND_BEFORE_LEAVING && stored[d] < made[d]);
            for (g : 0 .. LOGS - 1) {
                if
                :: FRESH_PULL -> look(d, g); if :: ok -> need = 0 :: else fi
                :: else
                fi
            }
            if
            :: need ->
                device[d].op = operation;
                device[d].subject = person;
                device[d].at = device[d].links;
                wrapped(d, operation, person);
                device[d].wraps = q;
                for (g : 0 .. LOGS - 1) {
                    if
                    :: owner(g) == person ->
                        device[d].bound[place(g)] = device[d].applied[g];
                        device[d].before[place(g)] = stored[g];
                        /* What does not count anyway is not lost by the bound. */
                        look(d, g);
                        if
                        :: owner(g) == d || ends[g] || device[d].links < total ->
                            device[d].before[place(g)] = device[d].applied[g]
                        :: else
                        fi
                    :: else
                    fi
                }
                printf("%d begins operation %d of %d\n", d, operation, person);
                check()
            :: else
            fi
        :: else
        fi
    :: else
    fi
}

/* A device puts its link, if its place is free. */
inline put_link(d) {
    if
    :: device[d].op != NOTHING && device[d].at == total && total < LINKS ->
        if
        :: device[d].op == REMOVE || device[d].op == DEMOTE ->
            /* 3. What was at the remote before counts. */
            assert(device[d].bound[0] >= device[d].before[0] && device[d].bound[1] >= device[d].before[1])
        :: else
        fi;
        printf("%d puts link %d: operation %d of %d, bounds %d %d, wraps %d\n", d, total, device[d].op,
            device[d].subject, device[d].bound[0], device[d].bound[1], device[d].wraps);
        append(device[d].op, device[d].subject, device[d].wraps, device[d].bound[0], device[d].bound[1]);
        device[d].op = NOTHING;
        check()
    :: device[d].op != NOTHING && device[d].at < total && device[d].links == total ->
        /* Another link has the place. The device may make the change again, by another link. */
        entitled(d, device[d].op, device[d].subject);
        if
        :: ok && total < LINKS && !(WRAPS_ANEW && BOUNDS_ANEW) ->
            device[d].at = total;
            for (g : 0 .. LOGS - 1) {
                if
                :: owner(g) == device[d].subject && !WRAPS_ANEW -> device[d].bound[place(g)] = device[d].applied[g]
                :: owner(g) == device[d].subject && !BOUNDS_ANEW ->
                    look(d, g);
                    device[d].before[place(g)] = (ends[g] -> device[d].applied[g] : stored[g])
                :: else
                fi
            }
            if
            :: WRAPS_ANEW -> wrapped(d, device[d].op, device[d].subject); device[d].wraps = q
            :: else
            fi
        :: else -> device[d].op = NOTHING
        fi;
        printf("%d finds its place taken\n", d);
        check()
    :: else
    fi
}

/* A device learns the next link, and takes back what no longer counts. */
inline learn(d) {
    if
    :: device[d].links < total ->
        n = device[d].links;
        device[d].links++;
        a = link[n].subject;
        printf("%d learns link %d\n", d, n);
        for (g : 0 .. LOGS - 1) {
            if
            :: link[n].bounds && TAKE_BACK && owner(g) == a && device[d].applied[g] > link[n].bound[place(g)] ->
                if
                :: a == d ->
                    for (s : 1 .. SIZE) {
                        if
                        :: s <= made[g] && s > link[n].bound[place(g)] -> commit[g * SIZE + s - 1].aside = SET_ASIDE
                        :: else
                        fi
                    }
                    if
                    :: !NEW_LOG
                    :: else ->
                        device[d].applied[g] = link[n].bound[place(g)];
                        if :: g == CAROL -> device[d].log = 3 :: else fi
                    fi
                :: else -> device[d].applied[g] = link[n].bound[place(g)]
                fi
            :: else
            fi
        }
        check()
    :: else
    fi
}

/* A device opens its newest wrap. */
inline open_wrap(d) {
    n = device[d].epoch;
    for (i : 0 .. LINKS - 1) {
        if
        :: i < device[d].links && (link[i].wraps & bit_of(d)) && link[i].epoch > n -> n = link[i].epoch
        :: else
        fi
    }
    if
    :: n > device[d].epoch -> device[d].epoch = n; printf("%d opens the key of epoch %d\n", d, n); check()
    :: else
    fi
}

/* A device makes a commit, perhaps while it is away. */
inline write(d) {
    n = device[d].links - 1;
    g = device[d].log;
    if
    :: writes < WRITES && device[d].op != LEAVE && made[g] < SIZE && device[d].applied[g] == made[g] && link[n].role[d] >= WRITER &&
        (device[d].epoch == link[n].epoch || !SEAL_UNDER_HEAD) ->
        c = g * SIZE + made[g];
        commit[c].head = n;
        commit[c].epoch = device[d].epoch;
        for (k : 0 .. LOGS - 1) { commit[c].seen[k] = (k == g -> 0 : device[d].applied[k]) }
        if
        :: link[total - 1].role[d] < WRITER && !(link[total - 1].left & bit_of(d)) -> commit[c].late = total - 1
        :: else
        fi;
        made[g]++;
        writes++;
        device[d].applied[g] = made[g];
        printf("%d makes commit %d of log %d at link %d\n", d, made[g], g, n);
        /* 1. Who was removed, as far as the author knows, cannot read it. */
        for (p : 0 .. PEOPLE - 1) {
            if
            :: link[n].role[p] == NONE && !(link[n].left & bit_of(p)) && !link[n].owed ->
                knows(p, device[d].epoch);
                /* Unless this person was added again since. */
                for (l : 0 .. LINKS - 1) {
                    if
                    :: l > n && l < total && link[l].role[p] != NONE -> known = 0
                    :: else
                    fi
                }
                assert(!known)
            :: else
            fi
        }
        check()
    :: else
    fi
}

inline put_commit(d) {
    g = device[d].log;
    if
    :: stored[g] < made[g] && device[d].applied[g] == made[g] ->
        stored[g]++;
        printf("%d puts commit %d of log %d\n", d, stored[g], g);
        check()
    :: else
    fi
}

inline apply(d, log) {
    ok = 0;
    if
    :: device[d].applied[log] < stored[log] -> look(d, log)
    :: else
    fi;
    if
    :: ok ->
        device[d].applied[log]++;
        printf("%d applies commit %d of log %d\n", d, device[d].applied[log], log);
        check()
    :: else
    fi
}

/* Carol without rules: names any link, claims to have applied nothing, states any bound when she leaves. */
inline forge(named) {
    if
    :: (named) < total && made[CAROL] < SIZE && writes < WRITES ->
        knows(CAROL, link[named].epoch);
        if
        :: known ->
            c = CAROL * SIZE + made[CAROL];
            commit[c].head = named;
            commit[c].epoch = link[named].epoch;
            if
            :: link[total - 1].role[CAROL] < WRITER && !(link[total - 1].left & bit_of(CAROL)) ->
                commit[c].late = total - 1
            :: else
            fi;
            made[CAROL]++;
            stored[CAROL]++;
            writes++;
            printf("Carol forges commit %d at link %d\n", made[CAROL], named);
            check()
        :: else
        fi
    :: else
    fi
}

inline leave_as_she_likes() {
    if
    :: LEAVER == CAROL && total < LINKS && link[total - 1].role[CAROL] != NONE ->
        append(LEAVE, CAROL, 0, SIZE, SIZE);
        printf("Carol leaves with bounds of her own\n");
        check()
    :: else
    fi
}

/* A removed admin changes the key, for himself as well. */
inline intrude() {
    if
    :: !LINKS_VERIFIED && total < LINKS && link[total - 1].role[BOB] == NONE ->
        append(ROTATE, BOB, 7, 0, 0);
        printf("Bob puts a link without any right\n");
        check()
    :: else
    fi
}

/* A step that can do nothing is not taken; one that turns out to do nothing leads to the same state. */
proctype Member(byte me) {
    do
    :: d_step { device[me].links < total -> learn(me) }
    :: d_step { device[me].epoch < link[device[me].links - 1].epoch -> open_wrap(me) }
    :: d_step { writes < WRITES -> write(me) }
    :: d_step { stored[device[me].log] < made[device[me].log] -> put_commit(me) }
    :: d_step { device[me].applied[0] < stored[0] -> apply(me, 0) }
    :: d_step { device[me].applied[1] < stored[1] -> apply(me, 1) }
    :: d_step { device[me].applied[2] < stored[2] -> apply(me, 2) }
    :: d_step { device[me].applied[3] < stored[3] -> apply(me, 3) }
    :: d_step { device[me].op != NOTHING -> put_link(me) }
    :: d_step { (REMOVE_CAROL || LEAVER == CAROL) && mayBegin(me) -> begin(me, REMOVE, CAROL) }
    :: d_step { REMOVE_BOB && mayBegin(me) -> begin(me, REMOVE, BOB) }
    :: d_step { LEAVER == me && mayBegin(me) -> begin(me, LEAVE, me) }
    :: d_step { LEAVER < PEOPLE && mayBegin(me) -> begin(me, ROTATE, me) }
    :: d_step { ADD_CAROL && mayBegin(me) -> begin(me, ADD, CAROL) }
    :: d_step { ROLES && mayBegin(me) -> begin(me, DEMOTE, CAROL) }
    :: d_step { ROLES && mayBegin(me) -> begin(me, PROMOTE, CAROL) }
    od
}

proctype Malicious() {
    do
    :: d_step { mayForge(0) -> forge(0) }
    :: d_step { mayForge(1) -> forge(1) }
    :: d_step { mayForge(2) -> forge(2) }
    :: d_step { mayForge(3) -> forge(3) }
    :: d_step { LEAVER == CAROL && total < LINKS -> leave_as_she_likes() }
    od
}

proctype Intruder() {
    do
    :: d_step { !LINKS_VERIFIED && total < LINKS -> intrude() }
    od
}

init {
    d_step {
        total = 1;
        link[0].epoch = 1;
        link[0].wraps = 7;
        link[0].role[ANN] = OWNER;
        link[0].role[BOB] = ADMIN;
        link[0].role[CAROL] = ROLE_CAROL;
        for (i : 0 .. PEOPLE - 1) {
            link[0].was[i] = link[0].role[i];
            device[i].links = 1;
            device[i].epoch = 1;
            device[i].log = i;
            device[i].op = NOTHING
        }
    }
    atomic {
        if :: AWAY != ANN -> run Member(ANN) :: else fi;
        if :: AWAY != BOB -> run Member(BOB) :: else fi;
        if :: MALICE -> run Malicious() :: AWAY != CAROL && !MALICE -> run Member(CAROL) :: else fi;
        if :: !LINKS_VERIFIED -> run Intruder() :: else fi
    }
}
